-- SPDX-License-Identifier: BSD-2-Clause
-- The record's machine, as far as scripts share it.  Include before it:
-- clock.lua ("now", "stamp"), shard_index.lua (digits(), index()) and
-- record.lua (places of the record's members).
--
-- attempt is the fencing number, and only ever rises; tries counts, since an
-- operator last set the key free, the attempts that were sent, but for those
-- whose release says that they do not count: it is what max_attempts limits.
--
-- The notes of a record, in this order, as " NAME=VALUE":
--   asked    while an owner asks the upstream about an UNKNOWN attempt
--            (reconcile): the owner of that attempt, whose late truth is still
--            welcome; and since, from when on that attempt was unknown
--   was      likewise: when the record had changed (13), and when its time to
--            live ends: so it is again where nothing comes of that
--   back     after an owner has put the record back to UNKNOWN: that owner (22)
--            and its attempt (6), so that its step can be repeated
--   before   the attempts before this one that are unknown, the latest first:
--            of each its owner (22), reason (1), and since when (13).  Where
--            nothing was sent of this one, the latest of them is what it was;
--            where nothing is known of this one either, the truth about each
--            of them is welcome.
--   started  since when the witness is known to say `started` of this attempt
--            (gate/witness.h)
--   question a hash of what the upstream is asked about the attempt (claim.lua)
--   asks     that itself, sealed, where a gateway asks it without a client
--   entity   what the request changes (entities.lua): the end of its key's name
--   version  of newer_only, in digits that compare like the versions
--   shown    the same as JSON has it, for people
--   keep     how long the version is remembered, ms
--   held     1: somebody waits until it is decided what became of it
--   sent     of a key that was set free after an attempt that was sent: when
--            the first of those requests came (13), and its id
--
-- KEYS: the record, its shard's open leases, its shard's held records (UNKNOWN
-- and FAILED); and those of events.lua.  Beside them, in the same shard, stands
-- for each route what is UNKNOWN of it, by when a gateway may ask about it next
-- (gate/sweeper.h): "asking:ROUTE".  What has just become so is told gateways
-- on the shard's channel: "!asking:ROUTE", a newline, and the record's name.

local NOBODY = '----------------------'
local NOTES = {'asked', 'since', 'was', 'back', 'before', 'started', 'question',
    'asks', 'entity', 'version', 'shown', 'keep', 'held', 'sent'}
-- Of so many earlier attempts there are notes.
local BEFORE, BEFORE_MAX = 36, 8
local SENT = '^(' .. string.rep('%d', 13) .. ')(.*)$'
local WAS = '^' .. string.rep('%d', 26) .. '$'

-- The notes of an "o2": false where they are damaged.
local function read_notes(r, rest)
	for _, name in ipairs(NOTES) do
		r[name] = string.match(rest, ' ' .. name .. '=([^ \n]+)')
	end
	r.before = r.before or ''
	return string.find(rest, '^[^\n]*\n$') and
	    #(r.asked or NOBODY) == #NOBODY and
	    (not r.asked or string.find(r.since or '', '^%d+$')) and
	    (not r.started or string.find(r.started, '^%d+$')) and
	    #r.before % BEFORE == 0 and
	    (not r.sent or string.find(r.sent, SENT)) and
	    (not r.was or string.find(r.was, WAS))
end

-- What earlier releases wrote instead of notes.
local function read_other_owner(r, rest)
	if r.state == 'P' and rest ~= '' then
		r.asked, r.since = rest, digits(now)
	elseif r.state == 'P' and r.reason ~= '-' then
		r.before = NOBODY .. string.lower(r.reason) .. r.lease_until
		r.reason = '-'
	elseif rest ~= '' then
		r.back = rest .. r.attempt
	end
	r.reason = string.lower(r.reason)
end

-- A value as a table; nil where there is none; false where it is damaged or of
-- another version, and must not be overwritten.
local function parse(value)
	if not value then
		return nil
	end
	local _, last = string.find(value, '^o[12][PCUFR][-%a]%d+')
	local line = string.find(value, '\n', ROUTE, true)
	local mark = string.sub(value, MARK, MARK)
	if not last or last < LEASE_END or (mark ~= '\n' and mark ~= '+') or
	    not line then
		return false
	end
	local r = {
		value = value,
		state = string.sub(value, STATE, STATE),
		reason = string.sub(value, REASON, REASON),
		attempt = string.sub(value, ATTEMPT, ATTEMPT_END),
		tries = string.sub(value, TRIES, TRIES_END),
		created = string.sub(value, CREATED, CREATED_END),
		lease_until = string.sub(value, LEASE, LEASE_END),
		owner = string.sub(value, OWNER, OWNER_END),
		fingerprint = string.sub(value, PRINT, PRINT_END),
		provenance = string.sub(value, ROUTE, line - 1),
		known = string.sub(value, ROUTE, line - 1),
		rest = '',
		before = '',
		mark = mark,
	}
	if r.state ~= 'C' then
		local rest = string.sub(value, line + 1)
		if string.sub(value, 1, 2) == 'o1' then
			read_other_owner(r, rest)
		elseif not read_notes(r, rest) then
			return false
		end
	end
	return r
end

-- What an operator's delete leaves of a damaged record, and what is made for a
-- lost one: UNKNOWN, and nobody's, as nobody knows which attempt was sent, so
-- that no witness is asked about it.  A damaged one is of a request that nobody
-- knows, too, so that it may be any.
local function was_damaged(r)
	return r.state == 'U' and r.owner == NOBODY
end

local function notes_of(r)
	local notes = ''
	for _, name in ipairs(NOTES) do
		if r[name] and r[name] ~= '' then
			notes = notes .. ' ' .. name .. '=' .. r[name]
		end
	end
	return notes
end

-- A provenance: up to the first request's id, that, and a tab with what
-- operators did (operate.lua), if anything.
local FROM = '^([^\t]*\t[^\t]*\t[^\t]*\t[^\t]*\t[^\t]*\t)([^\t]*)(.*)$'

-- That of a claim, in a record that may be of an earlier request; r.first is
-- that one's id then.
local function provenance_after(r, claimed)
	local start, id = string.match(claimed, FROM)
	local _, first, acts = string.match(r.known or '', FROM)
	if not start or not first then
		return claimed
	end
	r.first = not r.anew and first or ''
	return start .. (r.first == '' and id or first) .. acts
end

-- That of what was sent, back to where an operator last set the key free: the
-- last request's, but for the first one's id.  The record is of that one's time
-- then.  nil where nobody knows.
local function provenance_of_sent(r)
	local start, id, acts = string.match(r.known or '', FROM)
	if not start or string.find(start, '^\t') then
		return nil
	elseif r.sent then
		r.created, id = string.match(r.sent, SENT)
		r.sent = nil
	end
	return start .. id .. acts
end

-- That of a free key: nothing where nothing was sent, unless operators decided
-- about it; then people look what it was.
local function provenance_of_free(r, sent)
	local _, _, acts = string.match(r.provenance, FROM)
	if sent then
		return provenance_of_sent(r) or ''
	end
	return acts and acts ~= '' and r.provenance or ''
end

-- The record remembers an act of an operator, or a question and what came of
-- it ('q'), and of all the last ones; of questions in a row the last.
local ACTS, ACT = 8, 14

local function note_down(r, act)
	local kept = {}
	local start, id, acts = string.match(r.known, FROM)
	start = start or r.known .. '\t\t\t\t\t'
	for one in string.gmatch(acts or '', '[^\t ]+') do
		kept[#kept + 1] = one
	end
	local last = #kept > 0 and string.sub(kept[#kept], ACT, ACT)
	local again = last == 'q' and string.sub(act, 1, 1) == 'q'
	kept[#kept + (again and 0 or 1)] = stamp .. act
	r.provenance = start .. (id or '') .. '\t' .. table.concat(kept, ' ',
	    math.max(1, #kept - ACTS + 1))
	r.known = r.provenance
end

-- include events.lua
-- include slot_migration.lua

-- Where the UNKNOWN records stand that have the route of that provenance; nil:
-- nobody knows it.
local function asking(provenance)
	local route = string.match(provenance, '^[^\t]+')
	return route and string.sub(KEYS[2], 1, -7) .. 'asking:' .. route
end

-- What is UNKNOWN, and was asked about in vain, is so again when it will have
-- been UNKNOWN, or `started`, for twice as long.
local SOONEST, LATEST = 1000, 600000

local function asked_again(r)
	local since = r.started or r.lease_until
	return digits(now + math.min(math.max(now - since, SOONEST), LATEST))
end

-- pcall: the step is done, even if our user may not PUBLISH.
local function publish(what)
	redis.pcall('PUBLISH', string.sub(KEYS[2], 1, -7) .. 'changes', what)
end

local function ask_about(r, asks, longest)
	index(asks, KEYS[1], r.back and asked_again(r) or stamp, longest)
	if not r.back then
		publish('!' .. string.match(asks, 'asking:.*') .. '\n' ..
		    string.sub(KEYS[1], -32))
	end
end

-- Stores the record in a state, for ttl ms.  The SET comes first: where a full
-- Redis refuses it, nothing has changed.  Once it is no longer PROCESSING,
-- retries that wait for it hear of that on the shard's channel, and once it is
-- neither that nor UNKNOWN, whoever holds a message until then.
local function move(r, state, ttl, longest)
	local waited = r.mark == '+' or
	    (r.held and state ~= 'P' and state ~= 'U')
	local from = r.state
	local asks = state == 'U' and asking(r.provenance) or
	    from == 'U' and asking(r.known)
	local away = asks and apart(KEYS[1], asks)
	if away then
		error(away)
	end
	local changed = stamp
	if state == 'C' then
		r.lease_until = digits(now + ttl)
	elseif state == 'U' and r.left then
		ttl, changed = r.left, r.changed
	end
	redis.call('SET', KEYS[1], record_of(state, r.reason, r.attempt,
	    r.tries, r.created, changed, r.lease_until, r.owner, r.fingerprint,
	    state == 'P' and waited and '+' or '\n', r.provenance,
	    (state == 'C' or state == 'R') and '' or notes_of(r), r.rest),
	    'PX', ttl)
	tell(r, state)
	if state == 'P' then
		index(KEYS[2], KEYS[1], r.lease_until, longest)
	elseif from == 'P' then
		redis.call('ZREM', KEYS[2], string.sub(KEYS[1], -32))
	end
	if state == 'U' or state == 'F' then
		index(KEYS[3], KEYS[1], changed, longest)
	elseif from == 'U' or from == 'F' then
		redis.call('ZREM', KEYS[3], string.sub(KEYS[1], -32))
	end
	if asks and state == 'U' then
		ask_about(r, asks, longest)
	elseif asks then
		redis.call('ZREM', asks, string.sub(KEYS[1], -32))
	end
	if waited and state ~= 'P' then
		publish(string.sub(KEYS[1], -32))
	end
end

-- Somebody is to ask about the attempt, which is unknown.
local function begin_to_ask(r, unknown_ms)
	local left = redis.call('PTTL', KEYS[1])
	if r.state == 'U' and left > 0 then
		r.changed = string.sub(r.value, CHANGED, CHANGED_END)
		r.left = left
	end
	r.asked, r.since = r.owner, r.lease_until
	r.was = (r.changed or stamp) .. digits(now + (r.left or unknown_ms))
end

-- An owner that asked about an attempt steps back: that is unknown again, since
-- when it was, and will be forgotten as if nobody had asked.
local function put_back(r)
	local changed, ends = string.match(r.was or '', SENT)
	r.back = r.owner .. r.attempt
	r.owner, r.lease_until = r.asked, r.since
	r.changed, r.left = changed, ends and math.max(ends - now, 1)
	r.asked, r.since, r.was = nil, nil, nil
end

-- Whether that owner has put the record back, and of that attempt (zeros: of
-- whichever).
local function was_put_back(r, owner, attempt)
	return r.back and string.sub(r.back, 1, #NOBODY) == owner and
	    (attempt == '000000' or string.sub(r.back, -6) == attempt)
end

-- The present attempt becomes one that is unknown, before another one.
local function keep_before(r)
	r.before = string.sub(r.owner .. r.reason .. r.lease_until .. r.before,
	    1, BEFORE * BEFORE_MAX)
end

-- Whether that attempt of that owner is one of those.
local function was_before(r, owner, attempt)
	local at = (r.attempt - attempt - 1) * BEFORE
	return at >= 0 and string.sub(r.before, at + 1, at + #NOBODY) == owner
end

-- Nothing was sent of the present attempt: the one before is what it was.
local function restore_before(r)
	local last = string.sub(r.before, 1, BEFORE)
	r.back = r.owner .. r.attempt
	r.owner = string.sub(last, 1, 22)
	r.reason = string.sub(last, 23, 23)
	r.lease_until, r.started = string.sub(last, 24, 36), nil
	r.before = string.sub(r.before, BEFORE + 1)
	r.attempt = string.format('%06d', math.max(r.attempt - 1, 0))
end

-- Sets the key free; only its numbers of attempts stay, and for people, what
-- was sent, if anything was since an operator last did that (sent).  The event
-- is about the request that ends.
local function set_free(r, ttl, sent)
	r.reason, r.fingerprint, r.told = '-', NOBODY, r.known
	r.provenance = provenance_of_free(r, sent)
	move(r, 'R', ttl)
end

-- The lease of a PROCESSING record has expired: its outcome is unknown.
local function expire(r)
	r.via = 'U'
	if r.asked then
		put_back(r)
	else
		r.reason = 'l'
	end
end

-- A script's reply; where an event was not taken, Redis' error comes last.
local function answer(word, r, ...)
	local reply = {word, r and tonumber(r.attempt) or 0, now, call, ...}
	reply[#reply + 1] = untold
	return reply
end


-- The reply to an owner that is not the present one.
local function fenced(r)
	if r.state == 'C' then
		touch(r.value)
		return answer('FENCED', r, r.state, brief(r.value))
	end
	return answer('FENCED', r, r.state)
end
