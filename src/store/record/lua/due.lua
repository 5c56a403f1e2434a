#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Which records of indexes of one shard are due: leases that have expired, or
-- what is to be asked about; some of each, the oldest first.
-- KEYS: the indexes
-- ARGV: of each index, how many at most
-- Answers: DONE, and of each index a list of its records' names.

-- include clock.lua

local reply = {'DONE', 0, now, call}
for i, key in ipairs(KEYS) do
	reply[#reply + 1] = redis.call('ZRANGE', key, '-inf', now, 'BYSCORE',
	    'LIMIT', 0, ARGV[i])
end
return reply
