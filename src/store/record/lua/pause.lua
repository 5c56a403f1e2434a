#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- An operator's pause of a source or of a relay, for all gateways, until it is
-- resumed.
-- KEYS: the pause
-- ARGV: 1 act (look, pause, resume), 2 who, 3 note, 4 what is paused
--       (publish.lua)
-- Answers: DONE, and where it is paused now, since when (ms), who, note; GONE
--       where nothing is paused that could be resumed.
--
-- The value is these three, with a newline behind each of the first two.  It
-- has no end.  Whatever else stands there, something is paused.

-- include clock.lua
-- include publish.lua

local value = redis.call('GET', KEYS[1])
if ARGV[1] == 'pause' then
	value = string.format('%.0f', now) .. '\n' ..
	    string.gsub(ARGV[2], '\n', ' ') .. '\n' .. ARGV[3]
	redis.call('SET', KEYS[1], value)
	announce(ARGV[4], 'pause')
elseif ARGV[1] == 'resume' then
	if not value then
		return {'GONE', 0, now, call}
	end
	redis.call('DEL', KEYS[1])
	announce(ARGV[4], 'pause')
	return {'DONE', 0, now, call}
end

if not value then
	return {'DONE', 0, now, call}
end
local since, who, note = string.match(value, '^(%d+)\n([^\n]*)\n(.*)$')
return {'DONE', 0, now, call, since or '0', who or '', note or value}
