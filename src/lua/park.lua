#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Lanes of a source that are parked: their first message is a dead letter, and
-- what comes behind it follows it there, until an operator has decided.
-- KEYS: the parked lanes, by when they were parked; of this lane the positions,
--       by their order; the source's turn
-- ARGV: 1 act, 2 lane (32 hex digits), 3 position, 4 token: only while it is
--       its turn (turn.lua), empty: whoever's, 5 how many lanes there may be,
--       6 whose lanes (notice.lua)
-- act: park, the first of the lane is a dead letter, or a later one;
--       behind, a message comes after one, where there is one still;
--       unpark, the lane is free again.
-- Answers: DONE, and how many are parked in the lane (of unpark, were), and the
--       first position; GONE (behind, unpark: the lane is not parked); REFUSED
--       (park: there are too many lanes); FENCED (it is not its turn).
--
-- A position is parked once, however often that is said.  Nothing here has an
-- end: what is parked waits for an operator.

-- include clock.lua
-- include notice.lua

local act, lane, position, token = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if token ~= '' and token ~= string.match(
    redis.call('GET', KEYS[3]) or '', '^%d+ %d+ (%S+)$') then
	return {'FENCED', 0, now, call}
end

local first = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
local count = tonumber(
    redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2] or 0)
if act == 'unpark' or act == 'behind' then
	if not first then
		return {'GONE', 0, now, call}
	end
elseif not first and #redis.call('ZRANGE', KEYS[1], ARGV[5] - 1,
    ARGV[5] - 1) > 0 then
	return {'REFUSED', 0, now, call}
end

if act == 'unpark' then
	redis.call('DEL', KEYS[2])
	redis.call('ZREM', KEYS[1], lane)
	announce(ARGV[6], '-' .. lane)
else
	count = count +
	    redis.call('ZADD', KEYS[2], 'NX', count + 1, position)
	if not first then
		redis.call('ZADD', KEYS[1], now, lane)
		announce(ARGV[6], '+' .. lane)
	end
end
return {'DONE', 0, now, call, string.format('%.0f', count),
    first or position}
