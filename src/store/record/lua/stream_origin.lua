-- SPDX-License-Identifier: BSD-2-Clause
-- Which store wrote the newest copy or mark of a source.
-- KEYS: the dead letters
-- ARGV: the source
-- Answers: the store's id; empty: there is none among the newest 1,000, or what
--          stands there is no stream.

local to, seen = '+', 0
repeat
	local page = redis.pcall('XREVRANGE', KEYS[1], to, '-', 'COUNT', 10)
	if page.err then
		local none = string.find(page.err, 'WRONGTYPE', 1, true)
		return none and '' or page
	end
	for _, entry in ipairs(page) do
		local source, store
		for i = 1, #entry[2], 2 do
			if entry[2][i] == 'onceproxy-source' then
				source = entry[2][i + 1]
			elseif entry[2][i] == 'onceproxy-store' then
				store = entry[2][i + 1]
			end
		end
		if source == ARGV[1] and store then
			return store
		end
		to, seen = '(' .. entry[1], seen + 1
	end
until #page < 10 or seen >= 1000
return ''
