-- SPDX-License-Identifier: BSD-2-Clause
-- The layout of a record; only this file and src/record/record.c know it.
--
-- A record is one string.  Its head has exactly 100 bytes:
--   1 version "o1"      2    5 attempt      6    30 changed ms     13
--   3 state letter      1   11 tries        6    43 lease_until ms 13
--   4 reason letter     1   17 created ms  13    56 owner          22
--                                                78 fingerprint    22
--                                               100 mark            1
-- and behind it stand the route's name and a newline, then
--   COMPLETED: the stored answer;
--   else: nothing, or the other owner (transitions.lua).
-- The mark is a newline, or a plus sign while PROCESSING and retries wait for
-- it.  In a COMPLETED record, lease_until is when the record ends.
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

local function record_of(state, reason, attempt, tries, created, changed,
    lease_until, owner, fingerprint, mark, route, rest)
	return 'o1' .. state .. reason .. attempt .. tries .. created ..
	    changed .. lease_until .. owner .. fingerprint .. mark ..
	    route .. '\n' .. rest
end
