#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Messages of a source that are held: since when, over restarts of gateways and
-- whatever becomes of their records.
-- KEYS: their names (shared/holds.h), by when that began
-- ARGV: 1 act (look, note, find, drop), 2 name, of look how many at most, 3 for
--       how long one that nobody drops is kept, ms, 4 whose messages
--       (publish.lua), 5 of note for how long it has been held already, ms,
--       6 longer than that need not be known, ms
-- Answers: DONE, of note and find with how long it has been held, ms, of look
--       with the names, one after the other; GONE (find: it is not; look: there
--       are more).
--
-- One that is noted already keeps its time, up to the longest: so who notes it
-- again and again has it kept.

-- include clock.lua
-- include publish.lua

local act, name, keep_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])

if act == 'look' then
	local most = tonumber(name)
	local list = redis.call('ZRANGE', KEYS[1], 0, most)
	if #list > most then
		return {'GONE', 0, now, call}
	end
	return {'DONE', 0, now, call, table.concat(list)}
elseif act == 'drop' then
	redis.call('ZREM', KEYS[1], name)
	return {'DONE', 0, now, call}
end

local began = tonumber(redis.call('ZADD', KEYS[1], 'XX', 'INCR', 0, name))
if act == 'note' then
	local is_new = not began
	began = math.max(began or now - ARGV[5], now - ARGV[6])
	redis.call('ZADD', KEYS[1],
	    string.format('%.0f', math.min(began, now)), name)
	local list = redis.call('ZRANGE', KEYS[1], 0, 99, 'WITHSCORES')
	for i = 1, #list, 2 do
		if list[i + 1] + keep_ms < now then
			redis.call('ZREM', KEYS[1], list[i])
		end
	end
	redis.call('PEXPIRE', KEYS[1], keep_ms)
	if is_new then
		announce(ARGV[4], 'holds ' .. name)
	end
elseif not began then
	return {'GONE', 0, now, call}
end
return {'DONE', 0, now, call,
    string.format('%.0f', math.max(now - began, 0))}
