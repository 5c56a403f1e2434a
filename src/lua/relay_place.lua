#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Where relays stand in the streams of events: for those whose target does not
-- remember it, and to know what may be trimmed.
-- KEYS: hashes, one for each shard, all of one slot: a relay's name leads to
--       "TURN PLACE"
-- ARGV: 1 act (get, put), 2 the relay; of put 3 the number of its turn, then of
--       each key its place
-- Answers: DONE, of get with the place in each, or ""; of put FENCED, where
--       a later turn has put its own.

-- include clock.lua

local act, relay, turn = ARGV[1], ARGV[2], tonumber(ARGV[3])
local reply = {'DONE', 0, now, call}

local function read(key)
	return string.match(redis.call('HGET', key, relay) or '',
	    '^(%d+) (.*)$')
end

for i, key in ipairs(KEYS) do
	if act == 'get' then
		local _, place = read(key)
		reply[#reply + 1] = place or ''
	elseif (tonumber((read(key))) or 0) > turn then
		return {'FENCED', 0, now, call}
	else
		redis.call('HSET', key, relay,
		    string.format('%.0f', turn) .. ' ' .. ARGV[3 + i])
	end
end
return reply
