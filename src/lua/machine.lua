-- SPDX-License-Identifier: BSD-2-Clause
-- The record's machine, as far as scripts share it; "now" is set before
-- (clock.lua), "stamp", digits() and index() are (index.lua), and so are the
-- places of the record's members (record.lua).
--
-- attempt is the fencing number and only ever rises; tries counts the
-- attempts that were sent since the key was last free by an operator's word.
--
-- The reason says why a record is UNKNOWN.  A capital letter says besides
-- that an earlier attempt is unknown too, so that taking back the last one,
-- which was never sent, does not make the key free.
--
-- The other owner: while an owner asks the upstream about an UNKNOWN attempt
-- (reconcile), that is the owner whose attempt it is and whose late truth is
-- still welcome.  Once an owner has put a record back to UNKNOWN, that is the
-- one who did, so that its step can be repeated.
--
-- Keys: the record, its shard's open leases, its shard's held records
-- (UNKNOWN and FAILED); and where changes of state are told, the stream of
-- all of them and that of UNKNOWN and FAILED, with the length that both are
-- cut to (about) as the script's last argument.

local NOBODY = '----------------------'

-- A value as a table; nil where there is none, false where it is of another
-- version or damaged, which nobody may overwrite.
local function parse(value)
	if not value then
		return nil
	end
	local _, last = string.find(value, '^o1[PCUFR][-%a]%d+')
	local line = string.find(value, '\n', ROUTE, true)
	local mark = string.sub(value, MARK, MARK)
	if not last or last < LEASE_END or (mark ~= '\n' and mark ~= '+') or
	    not line then
		return false
	end
	local state = string.sub(value, STATE, STATE)
	return {
		value = value,
		state = state,
		reason = string.sub(value, REASON, REASON),
		attempt = string.sub(value, ATTEMPT, ATTEMPT_END),
		tries = string.sub(value, TRIES, TRIES_END),
		created = string.sub(value, CREATED, CREATED_END),
		lease_until = string.sub(value, LEASE, LEASE_END),
		owner = string.sub(value, OWNER, OWNER_END),
		fingerprint = string.sub(value, PRINT, PRINT_END),
		route = string.sub(value, ROUTE, line - 1),
		known = string.sub(value, ROUTE, line - 1),
		rest = state == 'C' and '' or string.sub(value, line + 1),
		mark = mark,
	}
end

-- States as events have them; a key that is free has no record to speak of.
local NAMES = {P = 'PROCESSING', C = 'COMPLETED', U = 'UNKNOWN', F = 'FAILED'}

-- Redis' error, where it took the step and not its event.
local untold

local function tell_one(r, from, to, attempt)
	from, to = NAMES[from] or 'NONE', NAMES[to] or 'NONE'
	if from == to then
		return
	end
	local entry = {'XADD', KEYS[4], 'MAXLEN', '~', ARGV[#ARGV], '*',
	    'id', string.sub(KEYS[1], -32),
	    'route', r.route ~= '' and r.route or r.known,
	    'from', from, 'to', to, 'attempt', tonumber(attempt)}
	if to == 'COMPLETED' and r.status ~= '0' then
		entry[#entry + 1] = 'status'
		entry[#entry + 1] = r.status
	end
	for i = 4, (to == 'UNKNOWN' or to == 'FAILED') and 5 or 4 do
		entry[2] = KEYS[i]
		local done = redis.pcall(unpack(entry))
		untold = type(done) == 'table' and done.err and done or untold
	end
end

-- An event for each change of state that this step makes, right behind its
-- first write: a full Redis, which refuses nothing any more then, cannot come
-- between, and whatever else Redis may have against the event, the step goes
-- on.  via is the state that the record went through on its way.
local function tell(r, state)
	if not KEYS[4] then
		return
	end
	local from = r.state
	if r.via then
		tell_one(r, from, r.via,
		    string.sub(r.value, ATTEMPT, ATTEMPT_END))
		from = r.via
	end
	tell_one(r, from, state, r.attempt)
end

-- Stores the record in a state, for ttl ms.  The SET comes first: where a
-- full Redis refuses it, nothing has changed.  Retries that wait are told
-- when it is PROCESSING no longer, on the channel of the shard.
local function move(r, state, ttl, longest)
	local waited = r.mark == '+'
	if state == 'C' then
		r.lease_until = digits(now + ttl)
	end
	redis.call('SET', KEYS[1], record_of(state, r.reason, r.attempt,
	    r.tries, r.created, stamp, r.lease_until, r.owner, r.fingerprint,
	    state == 'P' and waited and '+' or '\n', r.route, r.rest),
	    'PX', ttl)
	tell(r, state)
	local from = r.state
	if state == 'P' then
		index(KEYS[2], KEYS[1], r.lease_until, longest)
	elseif from == 'P' then
		redis.call('ZREM', KEYS[2], string.sub(KEYS[1], -32))
	end
	if state == 'U' or state == 'F' then
		index(KEYS[3], KEYS[1], stamp, longest)
	elseif from == 'U' or from == 'F' then
		redis.call('ZREM', KEYS[3], string.sub(KEYS[1], -32))
	end
	-- The step is done: a user who may not publish does not undo it.
	if waited and state ~= 'P' then
		redis.pcall('PUBLISH', string.sub(KEYS[2], 1, -7) .. 'changes',
		    string.sub(KEYS[1], -32))
	end
end

-- The present owner steps back, and what was unknown before is so again:
-- the attempt that it asked about, or the one before its own.
local function put_back(r)
	if r.rest == '' then
		r.reason = string.lower(r.reason)
		r.owner, r.rest = NOBODY, r.owner
	else
		r.owner, r.rest = r.rest, r.owner
	end
end

-- The key is free, and remembers nothing but its number of attempts.
local function set_free(r, ttl)
	r.reason, r.fingerprint, r.route, r.rest = '-', NOBODY, '', ''
	move(r, 'R', ttl)
end

-- The lease of a PROCESSING record ran out: its outcome is unknown.
local function expire(r)
	r.via = 'U'
	if r.rest ~= '' then
		put_back(r)
	else
		r.reason = r.reason == '-' and 'l' or 'L'
	end
end

-- Behind all else stands an error where an event was not taken.
local function answer(word, r, ...)
	local reply = {word, r and tonumber(r.attempt) or 0, now, ...}
	reply[#reply + 1] = untold
	return reply
end

-- What a step gets that is not the present owner's.
local function fenced(r)
	if r.state == 'C' then
		return answer('FENCED', r, r.state, r.value)
	end
	return answer('FENCED', r, r.state)
end
