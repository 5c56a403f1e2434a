#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Seeks letters of one turn of a gateway's loop, each by itself: most messages
-- that come again have none.  Of one that is there nothing is said, and
-- letter.lua is asked.
-- KEYS: of each the first two of letter_keys.lua
-- ARGV: of each its id, and before it letter.lua's act, unless it is that of
--       the one before
-- Answers: the call; Redis' clock, in 13 digits; a letter for each:
--       G there is none; S nothing was done.
--
-- All in one piece, as claims.lua is, and pcall for the same reason.  It writes
-- nothing, but does not say so: a replica would run it, and may be behind.

-- include clock.lua

local letters, at = {}, 1
for i = 1, #KEYS, 2 do
	-- An act is shorter than any id.
	if #ARGV[at] < 32 then
		at = at + 1
	end
	local found = redis.pcall('HMGET', KEYS[i] .. ARGV[at], 'state')
	letters[(i + 1) / 2] = not found.err and not found[1] and 'G' or 'S'
	at = at + 1
end
return {call, stamp, table.concat(letters)}
