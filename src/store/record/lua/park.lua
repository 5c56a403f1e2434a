#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Lanes of a source that are parked: their first message is a dead letter, and
-- what comes behind it follows it there, until an operator has decided.
-- KEYS: the parked lanes, by when they were parked; of this lane the positions,
--       by their order; the source's leadership; what was decided of lanes
-- ARGV: 1 act, 2 lane (32 hex digits), 3 position, 4 token: only while it is
--       it leads (leadership.lua), empty: whoever's, 5 how many lanes there may
--       be, 6 whose lanes (publish.lua)
-- act: park, the first of the lane is a dead letter, or a later one, and what
--       was decided before is over;
--       behind, a message comes after one, where there is one still;
--       look, what is parked there;
--       back or drop, it was decided that the first is to be brought back, or
--       dropped, and then all that is behind it brought back;
--       next, that position is done with: if it was the first, the next one
--       is to be brought back, and if it was the last, the lane is free;
--       skip, that position is neither a dead letter nor a message any more,
--       and if it is the first, the one behind it is the first then;
--       unpark, the lane is free again.
-- Answers: DONE, and how many are parked in the lane (of unpark, were), and the
--       first position; GONE (all but park: the lane is not parked); REFUSED
--       (park: there are too many lanes; back, drop: that is not the first;
--       next: likewise, it is done with all the same, and nothing was decided;
--       skip: something was decided), FENCED (another leads).
--
-- A position is parked once, however often that is said.  Nothing here has an
-- end: what is parked waits for an operator.

-- include clock.lua
-- include publish.lua

local act, lane, position, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if token ~= '' and token ~= string.match(
    redis.call('GET', KEYS[3]) or '', '^%d+ %d+ (%S+)$') then
	return {'FENCED', 0, now, call}
end

local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
local count = redis.call('ZCARD', KEYS[2])
if act ~= 'park' then
	if not first then
		return {'GONE', 0, now, call}
	end
elseif not first and #redis.call('ZRANGE', KEYS[1], ARGV[5] - 1,
    ARGV[5] - 1) > 0 then
	return {'REFUSED', 0, now, call}
end

-- LANE:ACT, where something was decided of the lane.
local function decided()
	return redis.call('ZRANGE', KEYS[4], '[' .. lane .. ':',
	    '(' .. lane .. ';', 'BYLEX')[1]
end

-- nil: nothing is, any more.
local function decide(what)
	local before = decided()
	if before then
		redis.call('ZREM', KEYS[4], before)
	end
	if what then
		redis.call('ZADD', KEYS[4], 0, lane .. ':' .. what)
	end
end

local function free()
	redis.call('DEL', KEYS[2])
	redis.call('ZREM', KEYS[1], lane)
	decide(nil)
	announce(ARGV[6], '-' .. lane)
end

if act == 'unpark' then
	free()
elseif act == 'back' or act == 'drop' then
	if position ~= first then
		return {'REFUSED', 0, now, call, string.format('%.0f', count),
		    first}
	end
	decide(act)
elseif act == 'skip' then
	if decided() then
		return {'REFUSED', 0, now, call, string.format('%.0f', count),
		    first}
	end
	if position == first then
		count = count - redis.call('ZREM', KEYS[2], position)
		first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
		if not first then
			free()
		end
	end
elseif act == 'next' then
	local goes_on = position == first or decided()
	count = count - redis.call('ZREM', KEYS[2], position)
	if not goes_on then
		return {'REFUSED', 0, now, call, string.format('%.0f', count),
		    first}
	end
	if position == first then
		first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
		if first then
			decide('back')
		else
			free()
		end
	end
elseif act ~= 'look' then
	local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
	count = count +
	    redis.call('ZADD', KEYS[2], 'NX', (last or 0) + 1, position)
	if act == 'park' then
		decide(nil)
	end
	if not first then
		redis.call('ZADD', KEYS[1], now, lane)
		announce(ARGV[6], '+' .. lane)
	end
end
return {'DONE', 0, now, call, string.format('%.0f', count),
    first or position}
