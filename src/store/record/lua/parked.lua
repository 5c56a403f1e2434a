#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Lists the parked lanes of a source (park.lua), the oldest first.
-- KEYS: the parked lanes; what was decided of them.  Their positions are of the
--       same shard and so of the same slot.
-- ARGV: 1 where to go on: 13 digits and the lane of the last one seen, or
--       nothing, 2 how many at most
-- Answers: DONE, and for each: lane, since when it is parked (13 digits), how
--       many are parked in it, the first position, what was decided (empty:
--       nothing).

-- include clock.lua
-- include shard_index.lua

local after, limit = ARGV[1], tonumber(ARGV[2])
local from = after == '' and '-inf' or string.sub(after, 1, 13)
local reply = {'DONE', 0, now, call}

local function add(lane, since)
	local positions = KEYS[1] .. ':' .. lane
	reply[#reply + 1] = lane
	reply[#reply + 1] = since
	reply[#reply + 1] = string.format('%.0f',
	    redis.call('ZCARD', positions))
	reply[#reply + 1] = redis.call('ZRANGE', positions, 0, 0)[1] or ''
	local decided = redis.call('ZRANGE', KEYS[2], '[' .. lane .. ':',
	    '(' .. lane .. ';', 'BYLEX')[1]
	reply[#reply + 1] = decided and string.sub(decided, #lane + 2) or ''
	limit = limit - 1
end

local seen = 0
repeat
	local page = redis.call('ZRANGE', KEYS[1], from, '+inf', 'BYSCORE',
	    'LIMIT', seen, 100, 'WITHSCORES')
	for i = 1, #page, 2 do
		local since = digits(tonumber(page[i + 1]))
		local lane = string.match(page[i], '^%x+$')
		if limit > 0 and lane and #lane == 32 and
		    since .. lane > after then
			add(lane, since)
		end
	end
	seen = seen + 100
until #page < 200 or limit <= 0
return reply
