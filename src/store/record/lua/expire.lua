#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Marks a record unknown whose lease has expired because its owner fell silent,
-- so that nobody has to retry the key to find that out.
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 longest ms
-- Answers: UNKNOWN reason provenance; IN_FLIGHT where the lease is good; GONE
--       where the record is not PROCESSING; BROKEN.

-- include clock.lua
-- include shard_index.lua
-- include record.lua
-- include transitions.lua

local r = parse(redis.call('GET', KEYS[1]))
if not r or r.state ~= 'P' then
	redis.call('ZREM', KEYS[2], string.sub(KEYS[1], -32))
	return answer(r == false and 'BROKEN' or 'GONE')
elseif r.lease_until > stamp then
	return answer('IN_FLIGHT', r, r.lease_until - now)
end
-- From the last renewal on its time to live was the lease and the longer
-- retention: that one is counted from now.
local ttl = redis.call('PTTL', KEYS[1])
ttl = ttl > 0 and ttl + now - r.lease_until or ARGV[1]
expire(r)
move(r, 'U', ttl, ARGV[1])
return answer('UNKNOWN', r, r.reason, r.provenance)
