#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- What an operator, who has asked the upstream's people, says about a key.
-- KEYS: record, leases, held (and see machine.lua about events)
-- ARGV: 1 act, 2 retention ms, 3 the answer and 4 its status (of complete),
--       5 the attempt that is spoken of, 0 for whichever, 6 the fingerprint
--       that it has, empty for whichever
-- act:  release, it did not happen: the key is free, with a fresh allowance
--       of attempts, whose number goes on rising;
--       complete, it happened, and this is what every retry is given;
--       delete, the record is forgotten.
-- Answers: DONE state-before, and unless it is gone, ms-left record; FENCED
--       state where the record is in a state that forbids the act, or is
--       not the one that is spoken of; GONE; BROKEN.
--
-- An answer may be sealed for one attempt and fingerprint (src/record/seal.h),
-- and would not open in a record that has others by now.
--
-- Nobody owns the record afterwards: an owner that comes late with a truth
-- of its own is fenced, and hears the operator's.

-- include clock.lua
-- include index.lua
-- include record.lua
-- include machine.lua

local act, retention = ARGV[1], ARGV[2]
local wanted = tonumber(ARGV[5])
local name = string.sub(KEYS[1], -32)
local r = parse(redis.call('GET', KEYS[1]))
if r == nil then
	return answer('GONE')
elseif r == false then
	return answer('BROKEN')
end

local before = r.state
if before == 'P' or
    (act ~= 'delete' and before ~= 'U' and before ~= 'F') then
	return answer('FENCED', r, before)
elseif (wanted ~= 0 and tonumber(r.attempt) ~= wanted) or
    (ARGV[6] ~= '' and r.fingerprint ~= ARGV[6]) then
	return answer('FENCED', r, before)
end

local reply
if act == 'delete' then
	redis.call('DEL', KEYS[1])
	tell(r)
	redis.call('ZREM', KEYS[2], name)
	redis.call('ZREM', KEYS[3], name)
	reply = answer('DONE', r, before)
else
	r.reason, r.owner = '-', NOBODY
	if act == 'complete' then
		r.rest, r.status = ARGV[3], ARGV[4]
		move(r, 'C', retention)
	else
		r.tries = '000000'
		set_free(r, retention)
	end
	-- Without the answer.
	reply = answer('DONE', r, before,
	    redis.call('PEXPIRETIME', KEYS[1]) - now,
	    redis.call('GETRANGE', KEYS[1], 0, ROUTE - 1 + #r.route))
end
-- Whoever keeps an answer, or waits for one, hears of it; where they cannot be
-- told, the operator must not believe that all is well.
redis.call('PUBLISH', string.sub(KEYS[2], 1, -7) .. 'changes', name)
return reply
