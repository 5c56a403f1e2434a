-- SPDX-License-Identifier: BSD-2-Clause
-- Why an entry is not pending that was so for a consumer.
-- KEYS: the stream
-- ARGV: 1 the group, 2 the consumer, 3 the entry's id
-- Answers: 1 it is lost: its bytes are gone, or its consumer is; 0 somebody has
--          finished it, or it comes again from a group that was made anew.

-- include stream.lua

if #redis.call('XRANGE', key, ARGV[3], ARGV[3]) == 0 then
	return 1
end
local there = find_group()
if not there or below(there['last-delivered-id'], ARGV[3]) or
    #redis.call('XPENDING', key, group, ARGV[3], ARGV[3], 1) > 0 then
	return 0
end
for _, each in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
	if map(each).name == ARGV[2] then
		return 0
	end
end
return 1
