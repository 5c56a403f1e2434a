-- SPDX-License-Identifier: BSD-2-Clause
-- The layout of a record; only this file, those that include it,
-- and src/store/record/record.c know it.
--
-- A record is one string.  Its head has exactly 100 bytes:
--   1 version           2    5 attempt      6    30 changed ms     13
--   3 state letter      1   11 tries        6    43 lease_until ms 13
--   4 reason letter     1   17 created ms  13    56 owner          22
--                                                78 fingerprint    22
--                                               100 mark            1
-- and behind it stand its provenance (src/store/record/provenance.h), which
-- begins with the route's name, and a newline; where the version is "o2", a
-- line of notes (transitions.lua); and in a COMPLETED record the stored
-- answer.  A record without notes, as most are, is an "o1".  Those of earlier
-- releases have no notes, but may have another owner at their end.  The mark is
-- a newline; or a plus sign, while PROCESSING where others wait for it, and
-- once COMPLETED where enough replicas have it (confirm.lua). lease_until is
-- also, in a COMPLETED record, when the record ends, and in an UNKNOWN one,
-- since when it is unknown.
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

-- A COMPLETED record of so many bytes is large: brief.lua.
local LARGE = 65536
