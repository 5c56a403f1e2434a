#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- What all gateways know of a route's witness: whether it may be believed.
-- KEYS: the trust
-- ARGV: 1 act (look, prove, end, trust), 2 of look and prove which witness it
--       is, of end why, of trust who, 3 of look whether a payment needs its row
--       there (1, 0, or empty: not known), of prove when a 2xx was sent that
--       had its row, ms, of trust a note, 4 whose it is (publish.lua)
-- Answers: DONE, GONE where nothing has changed (of prove and trust), and: when
--       the last proof was sent (ms, 0: none), since when it is at an end (ms,
--       0: it is not), since when it is this witness, or was said to be
--       believed again, since when a payment needs its row (ms, 0: it does
--       not), why it is at an end, and which witness all that is said of.
--
-- The value is a line for which witness it is, the first five of these, who
-- last said that it may be believed again, and a note.  It has no end.
-- Whatever else stands there, nothing is to be believed.

-- include clock.lua
-- include publish.lua

local value = redis.call('GET', KEYS[1])
local which, proven, ended, since, needed, why, who, note = string.match(
    value or '\n0\n0\n0\n0\n\n\n', '^([^\n]*)\n(%d+)\n(%d+)\n(%d+)\n(%d+)\n' ..
    '([^\n]*)\n([^\n]*)\n(.*)$')
if not which then
	which, proven, ended, since, needed = '', '0', stamp, '0', '0'
	why, who, note = 'broken', '', ''
end

local word, act = 'GONE', ARGV[1]
if act == 'look' then
	word = 'DONE'
	if which ~= ARGV[2] then
		which, since, needed, proven = ARGV[2], stamp, '0', '0'
	end
	if ARGV[3] == '0' then
		needed = '0'
	elseif ARGV[3] == '1' and needed == '0' then
		needed = stamp
	end
elseif act == 'prove' and ended == '0' and which == ARGV[2] and
    tonumber(ARGV[3]) > tonumber(proven) then
	word, proven = 'DONE', ARGV[3]
elseif act == 'end' then
	-- Where it is at one: once more, for the replicas (letter_put.lua).
	word = 'DONE'
	if ended == '0' then
		proven, ended, why = '0', stamp, ARGV[2]
	end
elseif act == 'trust' and ended ~= '0' then
	-- What was sent before may have been paid without its row.
	word, ended, why, since = 'DONE', '0', '', stamp
	who, note = string.gsub(ARGV[2], '\n', ' '), ARGV[3]
end

local now_is = table.concat(
    {which, proven, ended, since, needed, why, who, note}, '\n')
if word == 'DONE' and (now_is ~= value or act == 'end') then
	redis.call('SET', KEYS[1], now_is)
	if act == 'end' or act == 'trust' then
		announce(ARGV[4], 'trust')
	end
end
return {word, 0, now, call, proven, ended, since, needed, why, which}
