#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Renews the leases of several records of one shard.
-- KEYS: the shard's leases, then the records
-- ARGV: 1 longest ms, then for each record: owner, attempt (6 digits), lease
--       ms, and the time to live of a PROCESSING record, ms
-- Answers: DONE, and for each record 1, or 0 where it is no longer PROCESSING
--       under that owner and attempt.
--
-- A lease that is over is renewed as long as nobody has noticed.  Where another
-- key has taken the record's entity since (entities.lua), what is over is over.

-- include clock.lua
-- include index.lua
-- include record.lua
-- include transitions.lua

local function was_taken(key, head)
	if string.sub(head, LEASE, LEASE_END) > stamp or
	    string.sub(head, 1, STATE) ~= 'o2P' then
		return false
	end
	local r = parse(redis.call('GET', key))
	local root, own = string.match(key, '^(.*{)(%d+}:r:%x+)$')
	local holder = r and r.entity and
	    string.match(redis.call('GET', root .. r.entity) or '', '^%S+')
	return (holder or '-') ~= '-' and holder ~= own
end

local reply = answer('DONE')
for i = 2, #KEYS do
	local at = 4 * i - 6
	local head = redis.call('GETRANGE', KEYS[i], 0, MARK - 1)
	local kept = string.find(head, '^o[12]P') and
	    string.sub(head, OWNER, OWNER_END) == ARGV[at] and
	    string.sub(head, ATTEMPT, ATTEMPT_END) == ARGV[at + 1] and
	    not was_taken(KEYS[i], head)
	if kept then
		local lease_until = digits(now + ARGV[at + 2])
		redis.call('SETRANGE', KEYS[i], LEASE - 1, lease_until)
		redis.call('PEXPIRE', KEYS[i], ARGV[at + 3])
		index(KEYS[1], KEYS[i], lease_until, ARGV[1])
	end
	reply[#reply + 1] = kept and 1 or 0
end
return reply
