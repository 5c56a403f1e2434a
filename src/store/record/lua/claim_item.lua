-- SPDX-License-Identifier: BSD-2-Clause
-- A claim in one argument; only this file, those that include it, and
-- src/store/claim.c know how:
--   1 deadline    13 digits, by Redis' clock; zeros: none
--  14 wants        1 the sum of 1, where it is IN_FLIGHT, BUSY or UNKNOWN,
--                    publish the end of that, 2, of a COMPLETED record its
--                    answer's status is enough, and 4, the gateway has an
--                    outcome of the key that is not in Redis yet, so it is not
--                    UNKNOWN
--  15 caution      1 the sum of 1, Redis may lose what it stores, so nothing
--                    new may be executed, 2, replicas must have what is
--                    replayed, and 4, the clock jumped ahead: what it says of
--                    how long an attempt has been unknown is not true, and
--                    nothing is asked about it
--  16 terms          of the route, with a blank between them: lease ms, time to
--                    live of a PROCESSING record ms, unknown_retention ms,
--                    max_attempts, longest ms (shard_index.lua), policy; a
--                    newline
-- and behind that, as a record has them: owner 22, fingerprint 22, a newline,
-- and the provenance.
-- policy: what to do about an UNKNOWN: hold; retry; lost, hold, and where there
--       is no record one is made that is UNKNOWN, as it was sent; or
--       reconcile:MS:QUESTION (once it has been unknown for MS; QUESTION,
--       perhaps empty, is a hash of what would be asked: another question than
--       the attempt's own is never asked about it); or execute: the owner that
--       was answered RECONCILE has asked the upstream, and the attempt did not
--       happen.
local DEADLINE_END, WANTS, CAUTION, TERMS, TOKEN = 13, 14, 15, 16, 22
local NO_DEADLINE = '0000000000000'
local TERMS_OF = '^(%d+) (%d+) (%d+) (%d+) (%d+) (.*)\n$'
