#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Which leases of a shard have expired: some of them, the oldest first.
-- KEYS: the shard's leases
-- ARGV: 1 how many at most
-- Answers: DONE, and the names of their records.

-- include clock.lua

local names = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0,
    ARGV[1])
return {'DONE', 0, now, call, unpack(names)}
