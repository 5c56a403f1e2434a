#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Counts the records of one shard that are not final.
-- KEYS: the shard's leases, its held records.  The records themselves, which
--       these two name, are of the same shard and so of the same slot.
-- Answers: DONE, and how many are PROCESSING, UNKNOWN and FAILED.
--
-- The indexes may name records that are gone by now.

-- include clock.lua
-- include record.lua

local records = string.sub(KEYS[1], 1, -7) .. 'r:'
local counts = {P = 0, U = 0, F = 0}

for _, list in ipairs(KEYS) do
	local seen = 0
	repeat
		local names = redis.call('ZRANGE', list, seen, seen + 999)
		for _, name in ipairs(names) do
			local state =
			    redis.call('GETRANGE', records .. name,
				STATE - 1, STATE - 1)
			counts[state] = counts[state] and counts[state] + 1
		end
		seen = seen + #names
	until #names < 1000
end
return {'DONE', 0, now, call, counts.P, counts.U, counts.F}
