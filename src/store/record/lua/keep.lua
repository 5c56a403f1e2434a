-- SPDX-License-Identifier: BSD-2-Clause
-- Keeps the events that a relay is about to bring, each until it was brought or
-- is given up (kept.lua).
-- KEYS: the kept events; their bodies; the relay's turn
-- ARGV: 1 token: only while it is its turn (turn.lua); then of each event its
--       id, its record and its body
-- Answers: DONE, FENCED (it is not its turn).
--
-- An event is kept once, however often that is said: it keeps its time and its
-- body.  Nothing here has an end.

-- include clock.lua

if ARGV[1] ~= string.match(
    redis.call('GET', KEYS[3]) or '', '^%d+ %d+ (%S+)$') then
	return {'FENCED', 0, now, call}
end
for i = 2, #ARGV - 3, 3 do
	local id, record, body = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	if redis.call('HSETNX', KEYS[1], id, string.format('%.0f %.0f %s', now,
	    #body, record)) == 1 then
		redis.call('HSET', KEYS[2], id, body)
	end
end
return {'DONE', 0, now, call}
