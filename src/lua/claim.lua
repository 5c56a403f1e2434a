-- SPDX-License-Identifier: BSD-2-Clause
-- Claims a key: "this request is going to execute".
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 owner, 2 fingerprint, 3 lease ms, 4 time to live of a PROCESSING
--       record, ms, 5 unknown_retention ms, 6 max_attempts, 7 policy,
--       8 deadline (ms, by Redis' clock; 0: none), 9 route, 10 longest ms,
--       11 waits (1: where it is IN_FLIGHT, publish the end of it), 12 unsafe
--       (1: Redis may lose what it stores, so nothing new may be executed)
-- policy: what to do about an UNKNOWN: hold, retry or reconcile; or execute:
--       the owner that was answered RECONCILE has asked the upstream, and the
--       attempt did not happen.
-- Answers: OURS; RECONCILE reason (ours, to ask about and not to execute);
--       LATE; REFUSED (unsafe); IN_FLIGHT lease-left-ms; UNKNOWN reason;
--       COMPLETED record; FAILED; MISMATCH; BROKEN.
--
-- There is no "#!lua" line on purpose.  With one, a full Redis would refuse the
-- script as a whole, replays included; without one it refuses the first write:
-- no new claims, but all stored answers.  That first write is the SET of the
-- record, so nothing is left half done.

-- include clock.lua
-- include record.lua

local owner, fingerprint, lease_ms, alive_ms, unknown_ms, max_attempts,
    policy, deadline, route, longest, waits, unsafe = unpack(ARGV)
deadline = tonumber(deadline)
if deadline > 0 and now > deadline then
	return {'LATE', 0, now}
end

-- A shortcut for replays (the gateway checks the whole record again).
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, STATE) == 'o1C' and
    string.sub(value, PRINT, PRINT_END) == fingerprint then
	local attempt = tonumber(string.sub(value, ATTEMPT, ATTEMPT_END)) or 0
	return {'COMPLETED', attempt, now, value}
end

-- include index.lua

-- A shortcut for a key that was never used, which most claims are for, where no
-- event is to be written.
if not value and not KEYS[4] and unsafe ~= '1' then
	local lease_until = digits(now + lease_ms)
	redis.call('SET', KEYS[1], record_of('P', '-', '000001', '000001',
	    stamp, stamp, lease_until, owner, fingerprint, '\n', route, ''),
	    'PX', alive_ms)
	index(KEYS[2], KEYS[1], lease_until, longest)
	return {'OURS', 1, now, '-'}
end

-- include transitions.lua

local r = parse(value)
if r == false then
	return answer('BROKEN')
end

-- The record is this owner's, for one lease from now.
local function hold(word)
	if unsafe == '1' then
		return answer('REFUSED', r)
	end
	r.owner, r.fingerprint, r.route = owner, fingerprint, route
	r.lease_until = digits(now + lease_ms)
	move(r, 'P', alive_ms, longest)
	return answer(word, r, r.reason)
end

-- One more attempt, unless that would be one too many.  earlier is the reason
-- of an earlier attempt that stays unknown, as a capital letter; or '-'.
local function execute(earlier)
	r.rest = ''
	if tonumber(r.tries) >= tonumber(max_attempts) or
	    r.attempt == '999999' then
		r.reason, r.fingerprint, r.route = '-', fingerprint, route
		move(r, 'F', unknown_ms, longest)
		return answer('FAILED', r)
	end
	r.reason = earlier
	r.attempt = string.format('%06d', r.attempt + 1)
	r.tries = string.format('%06d', r.tries + 1)
	return hold('OURS')
end

if r == nil then
	r = {attempt = '000000', tries = '000000', created = stamp}
	return execute('-')
elseif r.state == 'R' then
	r.created = stamp
	return execute('-')
elseif r.fingerprint ~= fingerprint then
	return answer('MISMATCH', r)
elseif r.state == 'F' then
	return answer('FAILED', r)
end

if r.state == 'P' then
	if r.owner == owner then
		if r.rest == '' then
			return hold('OURS')
		elseif policy == 'execute' then
			r.via = 'R'
			-- A FAILED record still welcomes the truth of its last
			-- attempt, which was not this owner's.
			r.owner = r.rest
			return execute('-')
		end
		return hold('RECONCILE')
	elseif r.lease_until > stamp then
		if waits == '1' and r.mark ~= '+' then
			-- A full Redis refuses this; then nothing is published.
			redis.pcall('SETRANGE', KEYS[1], MARK - 1, '+')
		end
		return answer('IN_FLIGHT', r, r.lease_until - now)
	end
	expire(r)
end

if policy == 'execute' and r.rest == owner then
	r.via = 'R'
	return execute('-')
elseif policy == 'retry' then
	return execute(string.upper(r.reason))
elseif policy == 'reconcile' then
	-- The attempt stays the one that is asked about, and keeps its number:
	-- no request is sent that would need a new one.
	r.rest = r.owner
	return hold('RECONCILE')
end
if r.state == 'P' then
	move(r, 'U', unknown_ms, longest)
end
return answer('UNKNOWN', r, r.reason)
