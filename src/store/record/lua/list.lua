#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Lists records of one shard that are not final, the least recently changed
-- first.
-- KEYS: the shard's leases, its held records.  The records themselves, which
--       these two name, are of the same shard and so of the same slot.
-- ARGV: 1 letters of the states that are wanted, 2 where to go on: 13 digits
--       and the name of the last record seen, or nothing, 3 the latest change
--       that is of interest (13 digits), 4 how many at most
-- Answers: DONE, and for each: name, ms-left, record.

-- include clock.lua
-- include shard_index.lua
-- include record.lua
-- include transitions.lua

local wanted, after, latest = ARGV[1], ARGV[2], ARGV[3]
local limit = tonumber(ARGV[4])
local records = string.sub(KEYS[1], 1, -7) .. 'r:'
local found, seen = {}, {}

-- last: the last byte that is read; no answer is, but for its first bytes.
local function consider(name, last)
	local value = not seen[name] and
	    redis.call('GETRANGE', records .. name, 0, last)
	local r = parse(value)
	seen[name] = true
	if not r or not string.find(wanted, r.state, 1, true) then
		return
	end
	local changed = string.sub(value, CHANGED, CHANGED_END)
	if changed <= latest and changed .. name > after then
		found[#found + 1] = {place = changed .. name, name = name,
		    value = r.state == 'C' and
		    string.sub(value, 1, string.find(value, '\n', ROUTE, true))
		    or value}
	end
end

-- Held records are indexed by the time of their last change.
if string.find(wanted, '[UF]') then
	local from = after == '' and '-inf' or string.sub(after, 1, 13)
	local read = 0
	repeat
		local names = redis.call('ZRANGE', KEYS[2], from, latest,
		    'BYSCORE', 'LIMIT', read, 100)
		for _, name in ipairs(names) do
			consider(name, -1)
		end
		read = read + #names
	until #names < 100 or #found >= limit
end
-- Those in flight are indexed by lease; there are only as many as requests run.
if string.find(wanted, 'P', 1, true) then
	for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
		consider(name, -1)
	end
end
-- Of those that are COMPLETED, only those of a label are.
for i = 3, #KEYS do
	for _, name in ipairs(redis.call('ZRANGE', KEYS[i], 0, -1)) do
		consider(name, LARGE - 1)
	end
end

table.sort(found, function(a, b) return a.place < b.place end)
local reply = answer('DONE')
for i = 1, math.min(#found, limit) do
	local one = found[i]
	reply[#reply + 1] = one.name
	reply[#reply + 1] =
	    redis.call('PEXPIRETIME', records .. one.name) - now
	reply[#reply + 1] = one.value
end
return reply
