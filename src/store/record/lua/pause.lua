#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- An operator's pause of a source or of a relay, for all gateways, until it is
-- resumed.
-- KEYS: the pause
-- ARGV: 1 act (look, pause, resume), 2 who, 3 note, 4 what is paused
--       (publish.lua)
-- Answers: DONE, and where it is paused now, since when (ms), who, note; GONE
--       where nothing is paused that could be resumed, and, of a look, where
--       nobody has resumed it in these days either.
--
-- The value is these three, with a newline behind each of the first two.  It
-- has no end.  What was resumed says so for a week: who knows of a pause of
-- which nothing is here hears that Redis has lost it.  Whatever else stands
-- there, something is paused.

-- include clock.lua
-- include publish.lua

local RESUMED, WEEK = 'resumed', 604800000
local value = redis.call('GET', KEYS[1])
local paused = value and value ~= RESUMED
if ARGV[1] == 'pause' then
	value = string.format('%.0f', now) .. '\n' ..
	    string.gsub(ARGV[2], '\n', ' ') .. '\n' .. ARGV[3]
	redis.call('SET', KEYS[1], value)
	paused = true
	announce(ARGV[4], 'pause')
elseif ARGV[1] == 'resume' then
	if not paused then
		return {'GONE', 0, now, call}
	end
	redis.call('SET', KEYS[1], RESUMED, 'PX', WEEK)
	announce(ARGV[4], 'pause')
	return {'DONE', 0, now, call}
end

if not paused then
	return {value and 'DONE' or 'GONE', 0, now, call}
end
local since, who, note = string.match(value, '^(%d+)\n([^\n]*)\n(.*)$')
return {'DONE', 0, now, call, since or '0', who or '', note or value}
