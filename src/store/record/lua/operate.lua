#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- What an operator decides about a key, having found out what happened.
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 act, 2 retention ms, 3 the answer and 4 its status (of complete),
--       5 the attempt that is meant, 0 for any, 6 the fingerprint that the
--       record has, empty for any, 7 a note and who says it
--       (src/store/record/provenance.h); and of delete, 8 longest ms; of
--       complete, 8 what stands for the label (labels.lua); of replace, 8
--       owner and the same, 9 attempt (6 digits), 10 fingerprint, 11 tries,
--       12 created ms, 13 provenance, and 14 to 17 of an entity
--       (make_again.lua); and of the others, 9 when the record that is meant
--       had changed, 0 for any: after a delete attempts begin at 1 again
-- act: release, it did not happen: the key is free, with a fresh allowance
--       of attempts, but their number goes on rising;
--       replay, the same, where it is FAILED: whoever has found that so decides
--       nothing about an attempt of which nobody knows by now;
--       complete, it happened, and this is what every retry is given;
--       delete, the record is forgotten; one that is damaged becomes UNKNOWN,
--       for as long as retention says: it may have been executed, and what any
--       gateway has of it on its disk comes before another claim;
--       replace, it is damaged and forgotten, and in its place comes the
--       answer that a gateway has for it: no claim comes in between.
-- Answers: DONE state-before, and unless it is deleted, ms-left record;
--       FENCED state where the record's state forbids the act, or it is not
--       the attempt, fingerprint and time that are meant; GONE; BROKEN, and
--       DELETED where the damaged record was replaced, or U ms-left record
--       where it was deleted.
--
-- An answer may be sealed for one attempt and fingerprint
-- (src/store/record/seal.h), and would not open in a record that has others by
-- now.
--
-- Nobody owns the record afterwards: an owner that comes late with a truth of
-- its own is fenced, and gets the operator's.

-- include clock.lua
-- include shard_index.lua
-- include record.lua
-- include transitions.lua
-- include entities.lua
-- include make_again.lua
-- include labels.lua

local act, retention = ARGV[1], ARGV[2]
local wanted, changed = tonumber(ARGV[5]), tonumber(ARGV[9])
local name = string.sub(KEYS[1], -32)
local r = parse(redis.call('GET', KEYS[1]))

-- Gateways that cache an answer, or wait for one, must hear of it.  No pcall:
-- if they cannot, the operator must not believe that all is well.
local function announce()
	redis.call('PUBLISH', string.sub(KEYS[2], 1, -7) .. 'changes', name)
end

-- The record without its answer, as it is told.
local function told(word, r, before)
	return answer(word, r, before,
	    redis.call('PEXPIRETIME', KEYS[1]) - now,
	    redis.call('GETRANGE', KEYS[1], 0, ROUTE - 1 + #r.provenance))
end

if act == 'replace' and not r then
	r = make_again(10, nil, string.sub(ARGV[8], 1, 22), ARGV[9])
	local away = r.version and entity_apart(r.entity)
	if away then
		return away
	end
	r.rest, r.status = ARGV[3], ARGV[4]
	redis.call('ZREM', KEYS[3], name)
	redis.call('ZREM', KEYS[2], name)
	move(r, 'C', retention)
	entity_raise(r)
	index_label(string.sub(ARGV[8], 23), KEYS[2], KEYS[1], r.lease_until)
	announce()
	return answer('BROKEN', nil, 'DELETED')
elseif r == nil then
	return answer('GONE')
elseif r == false then
	if act ~= 'delete' or wanted ~= 0 or changed ~= 0 then
		return answer('BROKEN')
	end
	r = {
		owner = NOBODY, attempt = '000001', tries = '000001',
		fingerprint = NOBODY, reason = 'o', provenance = '', known = '',
		created = stamp, lease_until = stamp, rest = '', before = '',
	}
	note_down(r, string.sub(act, 1, 1) .. ARGV[7])
	redis.call('ZREM', KEYS[2], name)
	move(r, 'U', math.max(retention, redis.call('PTTL', KEYS[1])),
	    ARGV[8])
	announce()
	return told('BROKEN', r, 'U')
end

local before = r.state
if before == 'P' or act == 'replace' or (act == 'replay' and before ~= 'F') or
    (act ~= 'delete' and before ~= 'U' and before ~= 'F') then
	return answer('FENCED', r, before)
elseif (wanted ~= 0 and tonumber(r.attempt) ~= wanted) or
    (ARGV[6] ~= '' and r.fingerprint ~= ARGV[6]) or (changed ~= 0 and
	tonumber(string.sub(r.value, CHANGED, CHANGED_END)) ~= changed) then
	return answer('FENCED', r, before)
end

if act == 'delete' then
	redis.call('DEL', KEYS[1])
	tell(r)
	redis.call('ZREM', KEYS[2], name)
	redis.call('ZREM', KEYS[3], name)
	announce()
	return answer('DONE', r, before)
end

local away = act == 'complete' and r.version and entity_apart(r.entity)
if away then
	return away
end
r.reason, r.owner = '-', NOBODY
note_down(r, string.sub(act, 1, 1) .. ARGV[7])
if act == 'complete' then
	r.rest, r.status = ARGV[3], ARGV[4]
	move(r, 'C', retention)
	entity_raise(r)
	index_label(ARGV[8], KEYS[2], KEYS[1], r.lease_until)
else
	r.tries = '000000'
	set_free(r, retention, false)
end
local reply = told('DONE', r, before)
announce()
return reply
