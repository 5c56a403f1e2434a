-- SPDX-License-Identifier: BSD-2-Clause
-- Claims a key: "this request is going to execute".
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 owner, 2 fingerprint, 3 lease ms, 4 time to live of a PROCESSING
--       record, ms, 5 unknown_retention ms, 6 max_attempts, 7 policy,
--       8 deadline (ms, by Redis' clock; 0: none), 9 provenance (record.lua),
--       10 longest ms,
--       11 wants: the sum of 1, where it is IN_FLIGHT, BUSY or UNKNOWN, publish
--       the end of that, and 2, of a COMPLETED record its answer's status is
--       enough,
--       12 caution: the sum of 1, Redis may lose what it stores, so nothing new
--       may be executed, 2, replicas must have what is replayed, and 4, the
--       clock jumped ahead: what it says of how long an attempt has been
--       unknown is not true, and nothing is asked about it;
--       and of a route with an entity: 13 its key (entities.lua), 14 version,
--       15 that as JSON, 16 serialize (1)
-- policy: what to do about an UNKNOWN: hold, retry, or reconcile:MS:QUESTION
--       (once it has been unknown for MS; QUESTION, perhaps empty, is a hash
--       of what would be asked: another question than the attempt's own is
--       never asked about it); or execute: the owner that was answered
--       RECONCILE has asked the upstream, and the attempt did not happen.
-- Answers: OURS reason tries created first (the first request's id; empty, or
--       left out, where that is this one); RECONCILE likewise (ours, to ask
--       about and not to execute); LATE; REFUSED (caution); IN_FLIGHT
--       lease-left-ms; UNKNOWN reason settle-left-ms; COMPLETED record (brief),
--       or its head and its answer's status;
--       FAILED; MISMATCH; BROKEN; STALE version (newer_only); BUSY
--       lease-left-ms record-name (serialize); FULL (events wait for relays).
--
-- There is no "#!lua" line on purpose.  With one, a full Redis would refuse the
-- script as a whole, replays included; without one it refuses the first write:
-- no new claims, but all stored answers.  That first write is the SET of the
-- record, so nothing is left half done.

-- include clock.lua
-- include record.lua

local owner, fingerprint, lease_ms, alive_ms, unknown_ms, max_attempts,
    policy, deadline, claimed, longest, wants, caution = unpack(ARGV)
deadline = tonumber(deadline)
local waits, brevity = wants % 2 == 1, wants % 4 >= 2
local unsafe, confirm = caution % 2 == 1, caution % 4 >= 2
local settle, question = string.match(policy, '^reconcile:(%d+):?(%x*)$')
if deadline > 0 and now > deadline then
	return {'LATE', 0, now, call}
end

-- A shortcut for replays (the gateway checks the whole record again).
local value = redis.call('GET', KEYS[1])
if value and string.sub(value, 1, STATE) == 'o1C' and
    string.sub(value, PRINT, PRINT_END) == fingerprint then
	local attempt = tonumber(string.sub(value, ATTEMPT, ATTEMPT_END)) or 0
	if confirm then
		touch(value)
	end
	return {'COMPLETED', attempt, now, call, brief(value, brevity)}
end

-- include index.lua

-- A shortcut for a key that was never used, which most claims are for, where no
-- event is to be written.
if not value and not KEYS[4] and not unsafe and #ARGV == 13 and
    (question or '') == '' then
	local lease_until = digits(now + lease_ms)
	redis.call('SET', KEYS[1], record_of('P', '-', '000001', '000001',
	    stamp, stamp, lease_until, owner, fingerprint, '\n', claimed, '',
	    ''), 'PX', alive_ms)
	index(KEYS[2], KEYS[1], lease_until, longest)
	return {'OURS', 1, now, call, '-', '000001', stamp}
end

-- include transitions.lua
-- include apart.lua
-- include entities.lua

local r = parse(value)
if r == false then
	return answer('BROKEN')
end

-- The record is this owner's, for one lease from now.
local function hold(word)
	if unsafe then
		return answer('REFUSED', r)
	end
	local holder, away = entity_holder()
	if away then
		return away
	end
	if holder then
		return entity_busy(r, holder, waits)
	end
	r.owner, r.fingerprint = owner, fingerprint
	r.provenance = provenance_after(r, claimed)
	r.lease_until, r.back = digits(now + lease_ms), nil
	if #ARGV >= 16 then
		entity_note(r, 13, unknown_ms)
	end
	move(r, 'P', alive_ms, longest)
	entity_hold(r, alive_ms)
	return answer(word, r, r.reason, r.tries, r.created, r.first or '')
end

-- One more attempt, unless that would be one too many.  unknown: the one before
-- it is unknown.
local function execute(unknown)
	if unsafe then
		return answer('REFUSED', r)
	end
	if policy ~= 'execute' then
		r.question = question
	end
	if tonumber(r.tries) >= tonumber(max_attempts) or
	    r.attempt == '999999' then
		r.reason, r.fingerprint = '-', fingerprint
		r.provenance = provenance_after(r, claimed)
		move(r, 'F', unknown_ms, longest)
		return answer('FAILED', r)
	end
	if unknown then
		keep_before(r)
	else
		r.before = ''
	end
	r.reason = '-'
	r.attempt = string.format('%06d', r.attempt + 1)
	r.tries = string.format('%06d', r.tries + 1)
	return hold('OURS')
end

local away = #ARGV >= 16 and entity_apart(ARGV[13])
if away then
	return away
end

-- The version of an entity, where this request's is not above it.
local stale = entity_stale()

if r == nil or r.state == 'R' then
	if unsafe then
		return answer('REFUSED', r)
	elseif stale then
		return answer('STALE', r, stale)
	elseif overflows() then
		return answer('FULL', r)
	end
	r = r or {attempt = '000000', tries = '000000', mark = '\n'}
	r.created, r.before, r.rest, r.anew = stamp, '', '', true
	return execute(false)
elseif r.fingerprint ~= fingerprint and not was_damaged(r) then
	return answer('MISMATCH', r)
elseif r.state == 'F' then
	return answer('FAILED', r)
end

-- It was asked about, and did not happen.
local function did_not_happen()
	if unsafe then
		return answer('REFUSED', r)
	end
	r.via, r.asked, r.since, r.back = 'R', nil, nil, nil
	if stale then
		set_free(r, alive_ms)
		return answer('STALE', r, stale)
	end
	return execute(false)
end

if r.state == 'P' then
	if r.owner == owner then
		if not r.asked then
			return hold('OURS')
		elseif policy == 'execute' then
			-- A FAILED record still welcomes the truth of its last
			-- attempt, which was not this owner's.
			r.owner = r.asked
			return did_not_happen()
		end
		return hold('RECONCILE')
	elseif r.lease_until > stamp then
		if waits and r.mark ~= '+' then
			-- A full Redis refuses this; then nothing is published.
			redis.pcall('SETRANGE', KEYS[1], MARK - 1, '+')
		end
		return answer('IN_FLIGHT', r, r.lease_until - now)
	end
	expire(r)
end

local left = settle and
    math.min(r.lease_until + settle - now, tonumber(settle)) or 0
if policy == 'execute' and was_put_back(r, owner, '000000') then
	return did_not_happen()
elseif policy == 'retry' and not stale then
	return not unsafe and overflows() and answer('FULL', r) or execute(true)
elseif settle and left <= 0 and caution < '4' and
    (r.question or question) == question then
	-- The attempt stays the one that is asked about, and keeps its number:
	-- no request is sent that would need a new one.
	r.asked, r.since = r.owner, r.lease_until
	r.held = waits and '1' or r.held
	return hold('RECONCILE')
end
local unheard = waits and not r.held
r.held = waits and '1' or r.held
if r.state == 'P' then
	move(r, 'U', unknown_ms, longest)
elseif unheard then
	-- As above: a full Redis may refuse it.
	redis.pcall('SET', KEYS[1], record_of('U', r.reason, r.attempt,
	    r.tries, r.created, string.sub(value, CHANGED, CHANGED_END),
	    r.lease_until, r.owner, r.fingerprint, r.mark, r.provenance,
	    notes_of(r), ''), 'KEEPTTL')
end
return answer('UNKNOWN', r, r.reason, left)
