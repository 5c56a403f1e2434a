-- SPDX-License-Identifier: BSD-2-Clause
-- Writes a letter, before its broker acknowledges the message.
-- KEYS: as in letter_keys.lua
-- ARGV: 1 act, 2 id, 3 lane (empty: it stands alone), 4 reason, 5 head, 6 body,
--       7 whose letters (publish.lua), 8 until when it may be written, as
--       clock.lua has the time: what is known of its message holds no longer
-- act: first, it is dead, and its lane is made; or there is one, and it is
--       parked at the end of that;
--       behind, it is parked in its lane, if that is there still;
--       restore, as first, and it is confirmed at once.
-- Answers: DONE with the letter, also where it was there: then it stays as it
--       was; GONE (behind: its lane is not there); LATE: nothing was written,
--       for another may have its message by now.

-- include clock.lua
-- include letter_keys.lua

local act, id, lane = ARGV[1], ARGV[2], ARGV[3]
local letter = letter_at(id)
if letter then
	-- Whoever wrote it may have died before enough replicas had it, and
	-- WAIT covers only what was written on this connection.
	redis.call('HSET', KEYS[1] .. id, 'state', letter.state)
	return about('DONE', letter, lane)
end

if stamp > ARGV[8] then
	return about('LATE', nil, lane)
end
local first = first_of(lane)
if act == 'behind' and not first then
	return about('GONE', nil, lane)
end
local put = now
for i = 4, 5 do
	local last = redis.call('ZRANGE', KEYS[i], -1, -1, 'WITHSCORES')[2]
	put = math.max(put, (tonumber(last) or 0) + 1)
end
put = string.format('%.0f', put)
local state = act == 'restore' and 'confirmed' or 'written'
redis.call('HSET', KEYS[1] .. id, 'state', state, 'lane', lane, 'put', put,
    'reason', ARGV[4], 'head', ARGV[5], 'body', ARGV[6])
redis.call('ZADD', KEYS[first and 5 or 4], put, id)
if state == 'written' then
	redis.call('ZADD', KEYS[6], put, id)
end
if lane ~= '' then
	redis.call('ZADD', KEYS[2] .. lane, put, id)
end
if lane ~= '' and not first then
	redis.call('ZADD', KEYS[3], put, lane)
	tell(ARGV[7])
end
return about('DONE', letter_at(id), lane)
