-- SPDX-License-Identifier: BSD-2-Clause
-- A claim in two arguments; only this file, those that include it, and
-- src/store/claim.c know how.  Its terms, which claims of one turn may share:
--   1 a blank, which begins no owner
--   2 deadline    13 digits, by Redis' clock; zeros: none
--  15 wants        1 the sum of 1, where it is IN_FLIGHT, BUSY or UNKNOWN,
--                    publish the end of that, 2, of a COMPLETED record its
--                    answer's status is enough, and 4, the gateway has an
--                    outcome of the key that is not in Redis yet, so it is not
--                    UNKNOWN
--  16 caution      1 the sum of 1, Redis may lose what it stores, so nothing
--                    new may be executed, 2, replicas must have what is
--                    replayed, and 4, the clock jumped ahead: what it says of
--                    how long an attempt has been unknown is not true, and
--                    nothing is asked about it
--  17 the route's  with a blank between them: lease ms, time to live of a
--                    PROCESSING record ms, unknown_retention ms, max_attempts,
--                    longest ms (shard_index.lua), policy
-- And what is claimed, as a record has it: owner 22, fingerprint 22, a newline,
-- the provenance, and a newline.
-- policy: what to do about an UNKNOWN: hold; retry; lost, hold, and where there
--       is no record one is made that is UNKNOWN, as it was sent; or
--       reconcile:MS:QUESTION (once it has been unknown for MS; QUESTION,
--       perhaps empty, is a hash of what would be asked: another question than
--       the attempt's own is never asked about it); or execute: the owner that
--       was answered RECONCILE has asked the upstream, and the attempt did not
--       happen.
local DEADLINE, DEADLINE_END, WANTS, CAUTION, TERMS = 2, 14, 15, 16, 17
local NO_DEADLINE, TOKEN, BLANK = '0000000000000', 22, 32
local TERMS_OF = '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)$'
