-- SPDX-License-Identifier: BSD-2-Clause
-- A page of a source's copies and marks, in the order in which they were put.
-- KEYS: the dead letters
-- ARGV: 1 the source, 2 the id to go on behind (empty: from the first), 3 at
--       most so many
-- Answers: the id to go on after (empty: there are no more), and the entries.

local from, limit = ARGV[2] == '' and '-' or '(' .. ARGV[2], tonumber(ARGV[3])
local reply, seen, bytes, last = {''}, 0, 0, ARGV[2]
local function is_ours(values)
	for i = 1, #values, 2 do
		bytes = bytes + #values[i] + #values[i + 1]
	end
	for i = 1, #values, 2 do
		if values[i] == 'onceproxy-source' then
			return values[i + 1] == ARGV[1]
		end
	end
	return false
end
repeat
	-- One of 16 MiB and nine others are not read for nothing.
	local count = seen > 0 and bytes < 65536 and 10 or 1
	local page = redis.call('XRANGE', KEYS[1], from, '+', 'COUNT', count)
	for _, entry in ipairs(page) do
		if #reply > limit or seen >= 1000 or bytes > 1048576 then
			reply[1] = last
			return reply
		end
		seen, last = seen + 1, entry[1]
		if is_ours(entry[2]) then
			reply[#reply + 1] = entry
		end
	end
	from = '(' .. last
until #page < count
return reply
