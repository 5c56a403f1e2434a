-- SPDX-License-Identifier: BSD-2-Clause
-- The layout of a record; only this file and src/record/record.c know it.
--
-- A record is one string.  Its head has exactly 100 bytes:
--   1 version           2    5 attempt      6    30 changed ms     13
--   3 state letter      1   11 tries        6    43 lease_until ms 13
--   4 reason letter     1   17 created ms  13    56 owner          22
--                                                78 fingerprint    22
--                                               100 mark            1
-- and behind it stand its provenance (src/record/provenance.h), which begins
-- with the route's name, and a newline; where the version is
-- "o2", a line of notes (transitions.lua); and in a COMPLETED record the stored
-- answer.  A record without notes, as most are, is an "o1".  Those of earlier
-- releases have no notes, but may have another owner at their end.
-- The mark is a newline; or a plus sign, while PROCESSING where others wait for
-- it, and once COMPLETED where enough replicas have it (confirm.lua).
-- lease_until is also, in a COMPLETED record, when the record ends, and in an
-- UNKNOWN one, since when it is unknown.
--
-- Numbers are kept as digits, leading zeros included, wherever that is enough:
-- digits of one length compare like the numbers.

-- First and last byte of each, for string.sub, which counts from 1; GETRANGE
-- and SETRANGE count from 0.
local STATE, REASON, MARK, ROUTE = 3, 4, 100, 101
local ATTEMPT, ATTEMPT_END, TRIES, TRIES_END = 5, 10, 11, 16
local CREATED, CREATED_END, CHANGED, CHANGED_END = 17, 29, 30, 42
local LEASE, LEASE_END, OWNER, OWNER_END = 43, 55, 56, 77
local PRINT, PRINT_END = 78, 99

-- Writes a COMPLETED record as it is, unless it is confirmed.  Where a reply
-- waits for replicas (WAIT), it waits for what its own connection wrote; a full
-- Redis does not refuse this.
local function touch(value)
	local left = redis.call('PTTL', KEYS[1])
	if string.sub(value, MARK, MARK) ~= '+' and left > 0 then
		redis.call('PEXPIRE', KEYS[1], left)
	end
end

-- The status of a stored answer, as far as it can be read here: it is how a
-- plain one begins, and how a compressed one ends.
local FRAME = 'P*M\24\3\0\0\0'

local function status_of(value, line)
	local kind = string.sub(value, line + 1, line + 2)
	if kind == 'p\n' then
		return string.match(value, '^%d%d%d', line + 3)
	elseif kind == 'z ' and string.sub(value, -11, -4) == FRAME then
		return string.match(value, '^%d%d%d$', -3)
	end
end

-- A COMPLETED record as it stands in a reply: one that is large without its
-- answer, which is then fetched (show.lua) where it holds up nothing small; and
-- where brevity is asked for, its answer's status instead, where that can be
-- read.
local LARGE = 65536

local function brief(value, brevity)
	local line = string.find(value, '\n', ROUTE, true) or MARK
	local status = brevity and status_of(value, line)
	if status then
		return string.sub(value, 1, line), status
	elseif #value < LARGE then
		return value
	end
	return string.sub(value, 1, line)
end

local function record_of(state, reason, attempt, tries, created, changed,
    lease_until, owner, fingerprint, mark, provenance, notes, rest)
	return (notes == '' and 'o1' or 'o2') .. state .. reason .. attempt ..
	    tries .. created .. changed .. lease_until .. owner ..
	    fingerprint .. mark .. provenance .. '\n' ..
	    (notes == '' and '' or notes .. '\n') .. rest
end
