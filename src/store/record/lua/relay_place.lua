#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Where relays stand in the streams of events: for those whose target does not
-- remember it, and to know what may be trimmed.
-- KEYS: hashes, one for each shard, all of one slot: a relay's name leads to
--       "TURN PLACE"
-- ARGV: 1 act (get, put, keep), 2 the relay; of put 3 the number of its turn,
--       then of each key its place; of keep, from 2 on, the relays that there
--       are: of others nothing is kept, and one that stands nowhere yet has
--       brought nothing, so that nothing is trimmed before it has
-- Answers: DONE, of get with the place in each, or ""; of put FENCED, where
--       a later turn has put its own.

-- include clock.lua

local act, relay, turn = ARGV[1], ARGV[2], tonumber(ARGV[3])
local reply = {'DONE', 0, now, call}

local function read(key)
	return string.match(redis.call('HGET', key, relay) or '',
	    '^(%d+) (.*)$')
end

local function keep(key)
	local known = {}
	for i = 2, #ARGV - 1 do
		known[ARGV[i]] = true
	end
	for _, name in ipairs(redis.call('HKEYS', key)) do
		if not known[name] then
			redis.call('HDEL', key, name)
		end
	end
	for name in pairs(known) do
		if not redis.call('HGET', key, name) then
			redis.call('HSET', key, name, '0 0-0 -1')
		end
	end
end

for i, key in ipairs(KEYS) do
	if act == 'get' then
		local _, place = read(key)
		reply[#reply + 1] = place or ''
	elseif act == 'keep' then
		keep(key)
	elseif (tonumber((read(key))) or 0) > turn then
		return {'FENCED', 0, now, call}
	else
		redis.call('HSET', key, relay,
		    string.format('%.0f', turn) .. ' ' .. ARGV[3 + i])
	end
end
return reply
