-- SPDX-License-Identifier: BSD-2-Clause
-- Claims a key: "this request is going to execute".
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 the claim's terms, 2 what is claimed, as claim_item.lua has them; and
--       of a route with an entity: 3 its key (entities.lua), 4 version, 5 that
--       as JSON, 6 serialize (1)
-- Answers: OURS reason tries created first (the first request's id; empty, or
--       left out, where that is this one); RECONCILE likewise (ours, to ask
--       about and not to execute), and whether who sent it has the mark of this
--       owner (1, 0: claim_item.lua), since when it is unknown, and `started`
--       (0: nobody knows of that), and the record's fingerprint, provenance
--       and question (sealed); DONE (it is free); GONE (there is nothing to
--       ask about, or to set free); LATE; REFUSED (caution); IN_FLIGHT
--       lease-left-ms; UNKNOWN reason settle-left-ms unknown-for-ms;
--       COMPLETED record (brief), or its head and its answer's status;
--       FAILED first (of those that were sent); MISMATCH first differs (m
--       method, p path, - the rest); BROKEN; STALE version (newer_only); BUSY
--       lease-left-ms record-name (serialize); FULL (events wait for relays).
--
-- There is no "#!lua" line on purpose.  With one, a full Redis would refuse the
-- script as a whole, replays included; without one it refuses the first write:
-- no new claims, but all stored answers.  That first write is the SET of the
-- record, so nothing is left half done.

-- include clock.lua
-- include record.lua
-- include claim_item.lua

local terms, item = ARGV[1], ARGV[2]
local lease_ms, alive_ms, unknown_ms, max_attempts, longest, policy, more =
    string.match(string.sub(terms, TERMS), TERMS_OF)
local owner = string.sub(item, 1, TOKEN)
local fingerprint = string.sub(item, 1 + TOKEN, 2 * TOKEN)
local claimed = string.sub(item, 2 * TOKEN + 2, -2)
local wants, caution = string.sub(terms, WANTS, WANTS),
    string.sub(terms, CAUTION, CAUTION)
local waits, brevity, has_outcome = wants % 2 == 1, wants % 4 >= 2, wants >= '4'
local unsafe, confirm = caution % 2 == 1, caution % 4 >= 2
local settle, question, asks = string.match(policy ~= 'lost' and more or '',
    '^(%d+):?(%w*):?(%S*)$')
local deadline = string.sub(terms, DEADLINE, DEADLINE_END)
if stamp > deadline and deadline ~= NO_DEADLINE then
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

-- include shard_index.lua
-- include transitions.lua
-- include entities.lua

-- It stays on the list of what is asked about: another gateway may know how.
local function put_off(word, r)
	if policy == 'ask' then
		redis.pcall('ZADD', asking(claimed), 'XX',
		    digits(now + LATEST), string.sub(KEYS[1], -32))
	end
	return answer(word, r)
end

local r = parse(value)
if r == false then
	return put_off('BROKEN')
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
	if #ARGV >= 7 then
		entity_note(r, 3, unknown_ms)
	end
	move(r, 'P', alive_ms, longest)
	entity_hold(r, alive_ms)
	if word == 'OURS' then
		return answer(word, r, r.reason, r.tries, r.created,
		    r.first or '')
	end
	local same = string.sub(r.asked, 1, MARKED) ==
	    string.sub(owner, 1, MARKED)
	return answer(word, r, r.reason, r.tries, r.created, r.first or '',
	    same and 1 or 0, tonumber(r.since), tonumber(r.started or 0),
	    r.fingerprint, r.provenance, r.asks or '')
end

local function failed()
	local _, first = string.match(r.provenance, FROM)
	return answer('FAILED', r, first or '')
end

-- One more attempt, unless that would be one too many.  unknown: the one before
-- it is unknown.
local function execute(unknown)
	if unsafe then
		return answer('REFUSED', r)
	end
	if policy ~= 'execute' then
		r.question, r.asks = question, asks
	end
	if tonumber(r.tries) >= tonumber(max_attempts) or
	    r.attempt == '999999' then
		r.reason, r.fingerprint = '-', fingerprint
		r.provenance = provenance_of_sent(r) or
		    provenance_after(r, claimed)
		move(r, 'F', unknown_ms, longest)
		return failed()
	end
	if unknown then
		keep_before(r)
	else
		r.before = ''
	end
	r.reason, r.started = '-', nil
	r.attempt = string.format('%06d', r.attempt + 1)
	r.tries = string.format('%06d', r.tries + 1)
	return hold('OURS')
end

local away = #ARGV >= 7 and entity_apart(ARGV[3])
if away then
	return away
end

if policy == 'ask' then
	local asks_of = asking(claimed)
	local mine = r and r.state == 'P' and r.owner == owner and r.asked
	if not mine and (not r or r.state ~= 'U' or was_damaged(r) or
	    asking(r.known) ~= asks_of) then
		redis.pcall('ZREM', asks_of, string.sub(KEYS[1], -32))
		return answer('GONE', r)
	elseif not mine and question == '1' and not r.asks then
		return put_off('GONE', r)
	end
	fingerprint, claimed, question = r.fingerprint, r.known, r.question
	if not mine then
		-- It is not asked about before, whatever comes of this.
		local settled, again = digits(r.lease_until + settle),
		    asked_again(r)
		pcall(index, asks_of, KEYS[1],
		    settled > again and settled or again, longest)
	end
elseif policy == 'free' and (not r or r.state == 'R') then
	return answer(r and 'DONE' or 'GONE', r)
end

-- Whether this owner has asked, and it did not happen.
local did_not = policy == 'execute' or policy == 'free'
-- The version of an entity, where this request's is not above it.
local stale = entity_stale()

if policy == 'lost' and (r == nil or
    (string.find(r.state, '[RU]') and r.attempt < more)) then
	-- As of a record that was damaged, the truth is welcome.
	local old = r or {tries = '000000', known = claimed}
	local provenance = provenance_after(old, claimed)
	r = {attempt = more, reason = 'l', mark = '\n', state = old.state,
	    tries = string.format('%06d', old.tries + 1),
	    created = stamp, lease_until = stamp, owner = NOBODY,
	    fingerprint = fingerprint, before = '', rest = '',
	    question = old.question, asks = old.asks,
	    provenance = provenance, known = provenance}
	r.held = waits and '1' or old.held
	move(r, 'U', unknown_ms, longest)
	return answer('UNKNOWN', r, r.reason, 0, 0)
elseif r == nil or r.state == 'R' then
	if unsafe then
		return answer('REFUSED', r)
	elseif stale then
		return answer('STALE', r, stale)
	elseif overflows() then
		return answer('FULL', r)
	end
	r = r or {attempt = '000000', tries = '000000', mark = '\n'}
	-- A free key of which nothing was sent says something only of what
	-- operators did.
	local _, id, acts = string.match(r.known or '', FROM)
	r.sent = id and (r.tries ~= '000000' or acts == '') and
	    r.created .. id or nil
	r.created, r.before, r.rest, r.anew = stamp, '', '', true
	return execute(false)
elseif r.fingerprint ~= fingerprint and
    (r.state ~= 'U' or r.fingerprint ~= NOBODY) then
	local OF = '^[^\t]*\t([^\t]*)\t([^\t]*)\t[^\t]*\t[^\t]*\t([^\t]*)'
	local method, path, first = string.match(r.provenance, OF)
	local other_method, other_path = string.match(claimed, OF)
	local differs = method and method ~= other_method and 'm' or
	    path and path ~= other_path and 'p' or '-'
	return answer('MISMATCH', r, first or '', differs)
elseif r.state == 'F' then
	return failed()
end

-- It was asked about, and did not happen.
local function did_not_happen()
	if unsafe then
		return answer('REFUSED', r)
	end
	r.via, r.asked, r.since, r.was, r.back = 'R', nil, nil, nil, nil
	if more ~= '' then
		note_down(r, more)
	end
	if policy == 'free' then
		r.via = nil
		set_free(r, alive_ms, true)
		return answer('DONE', r)
	elseif stale then
		set_free(r, alive_ms, true)
		return answer('STALE', r, stale)
	end
	return execute(false)
end

if r.state == 'P' then
	if r.owner == owner then
		if not r.asked then
			return hold('OURS')
		elseif did_not then
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
-- A gateway does not say that nobody knows what it knows itself.
if has_outcome then
	return answer('REFUSED', r)
end

local left = settle and
    math.min(r.lease_until + settle - now, tonumber(settle)) or 0
if did_not and was_put_back(r, owner, '000000') then
	return did_not_happen()
elseif policy == 'retry' and not stale then
	return not unsafe and overflows() and answer('FULL', r) or execute(true)
elseif settle and left <= 0 and caution < '4' and
    (r.question or question) == question and
    (policy ~= 'witness' or not was_damaged(r) and
	asking(claimed) == asking(r.known)) then
	-- The attempt stays the one that is asked about, and keeps its number:
	-- no request is sent that would need a new one.
	begin_to_ask(r, unknown_ms)
	-- Whoever asks without a client does so in these words from now on.
	r.asks = asks ~= '' and asks or r.asks
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
-- Where the clock has jumped it does not say for how long.
return answer('UNKNOWN', r, r.reason, left,
    caution < '4' and math.max(now - r.lease_until, 0) or 0)
