#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Counts the records of one shard that are not final.
-- KEYS: the shard's leases, its held records.  The records themselves, which
--       these two name, are of the same shard and so of the same slot.
-- Answers: DONE, how many are PROCESSING, UNKNOWN and FAILED; and for each
--       state, reason and route that UNKNOWN and FAILED ones have: the letters
--       of the two and the route's name (so much of it as fits), how many
--       there are, and since when the first of them is so, ms.
--
-- The indexes may name records that are gone by now.

-- include clock.lua
-- include record.lua

local records = string.sub(KEYS[1], 1, -7) .. 'r:'
local counts = {P = 0, U = 0, F = 0}
local groups = {}
local NAME = 200

-- Whatever a record that is damaged has, the others are counted.
local function group(value, state)
	local of = string.sub(string.sub(value, STATE, REASON) .. '-', 1, 2) ..
	    string.match(value, '^[^\t\n]*', ROUTE)
	local since = state == 'U' and string.sub(value, LEASE, LEASE_END) or
	    string.sub(value, CHANGED, CHANGED_END)
	since = tonumber(string.match(since, '^%d+$')) or now
	local so_far = groups[of] or {0, since}
	groups[of] = {so_far[1] + 1, math.min(so_far[2], since)}
end

for _, list in ipairs(KEYS) do
	local seen = 0
	repeat
		local names = redis.call('ZRANGE', list, seen, seen + 999)
		for _, name in ipairs(names) do
			local value = redis.call('GETRANGE', records .. name, 0,
			    MARK + NAME - 1)
			local state = string.sub(value, STATE, STATE)
			counts[state] = counts[state] and counts[state] + 1
			if state == 'U' or state == 'F' then
				group(value, state)
			end
		end
		seen = seen + #names
	until #names < 1000
end

local reply = {'DONE', 0, now, call, counts.P, counts.U, counts.F}
for of, one in pairs(groups) do
	reply[#reply + 1] = of
	reply[#reply + 1] = one[1]
	reply[#reply + 1] = one[2]
end
return reply
