-- SPDX-License-Identifier: BSD-2-Clause
-- Puts a mark that the copy of a dead letter is done with, and a result, if
-- there is one.
-- KEYS: 1 the dead letters, 2 the results
-- ARGV: 1 the source, 2 the store, 3 the position, 4, ... the result's names
--       and values
-- Answers: 1; 0: it is among the newest already, as its reply was lost.

local function value(values, name)
	for i = 1, #values, 2 do
		if values[i] == name then
			return values[i + 1]
		end
	end
end
for _, entry in ipairs(redis.call(
    'XREVRANGE', KEYS[1], '+', '-', 'COUNT', 100)) do
	local values = entry[2]
	if value(values, 'onceproxy-source') ~= ARGV[1] then
		-- Of another source.
	elseif value(values, 'onceproxy-done') == ARGV[3] then
		return 0
	elseif value(values, 'onceproxy-position') == ARGV[3] then
		break
	end
end
if #ARGV > 3 then
	redis.call('XADD', KEYS[2], '*', unpack(ARGV, 4))
end
redis.call('XADD', KEYS[1], '*', 'onceproxy-done', ARGV[3],
    'onceproxy-source', ARGV[1], 'onceproxy-store', ARGV[2])
return 1
