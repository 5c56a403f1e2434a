-- SPDX-License-Identifier: BSD-2-Clause
-- What routes that only observe know of a key.  It is no record: nothing is
-- held by it, nobody is given an answer of it, and a route that enforces knows
-- nothing of it.
-- KEYS: the observation
-- ARGV: 1 act (begin, end), 2 owner, then of begin 3 fingerprint, 4 how long
--       a request may take, ms, 5 how long it is remembered, ms, 6 the
--       request's id; of end 3 what became of the request (C, U, or R: nothing
--       happened), 4 its status, in three digits, 5 how long that is
--       remembered, ms
-- Answers: of begin OURS, where no request with this key is known; else, with
--       the first request's id, its time (ms) and its status: IN_FLIGHT,
--       COMPLETED, UNKNOWN, MISMATCH; of end DONE; GONE (it is not ours).
--
-- The value is a letter (P, C, U), status 3, time 13, owner 22, fingerprint
-- 22, until when a P may be in flight 13, and the id.  Whatever else stands
-- there is forgotten.

-- include clock.lua

local value = redis.call('GET', KEYS[1])
local state, status, began, owner, fingerprint, till, id = string.match(
    value or '', '^([PCU])(%d%d%d)(' .. string.rep('%d', 13) .. ')(' ..
    string.rep('.', 22) .. ')(' .. string.rep('.', 22) .. ')(' ..
    string.rep('%d', 13) .. ')(.*)$')

local function put(letter, code, at, ends, name, ttl)
	redis.call('SET', KEYS[1], letter .. code .. at .. ARGV[2] ..
	    fingerprint .. ends .. name, 'PX', ttl)
end

if ARGV[1] == 'begin' then
	if not state then
		local stamp = string.format('%013.0f', now)
		fingerprint = ARGV[3]
		put('P', '000', stamp, string.format('%013.0f', now + ARGV[4]),
		    ARGV[6], ARGV[5])
		return {'OURS', 0, now, call}
	end
	local word = 'UNKNOWN'
	if fingerprint ~= ARGV[3] then
		word = 'MISMATCH'
	elseif state == 'C' then
		word = 'COMPLETED'
	elseif state == 'P' and tonumber(till) > now then
		word = 'IN_FLIGHT'
	end
	return {word, 0, now, call, id, began, status}
end

if owner ~= ARGV[2] then
	return {'GONE', 0, now, call}
elseif ARGV[3] == 'R' then
	redis.call('DEL', KEYS[1])
else
	put(ARGV[3], ARGV[4], began, till, id, ARGV[5])
end
return {'DONE', 0, now, call}
