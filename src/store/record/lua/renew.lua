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
-- A holder's entity lives as long as its record.

-- include clock.lua
-- include shard_index.lua
-- include record.lua
-- include transitions.lua

-- What a record in flight changes (entities.lua), where it is that record's
-- alone, or another's; nil where there is nothing of the kind.
local function entity_of(key, head)
	if string.sub(head, 1, STATE) ~= 'o2P' then
		return nil
	end
	local r = parse(redis.call('GET', key))
	if not r or not r.entity then
		return nil
	end
	local root, own = string.match(key, '^(.*{)(%d+}:r:%x+)$')
	local e = {name = root .. r.entity}
	e.away = apart(key, e.name)
	if not e.away then
		local holder = string.match(redis.call('GET', e.name) or '',
		    '^%S+') or '-'
		e.own = holder == own
		e.taken = holder ~= '-' and not e.own
	end
	return e
end

local reply = answer('DONE')
for i = 2, #KEYS do
	local at = 4 * i - 6
	local head = redis.call('GETRANGE', KEYS[i], 0, MARK - 1)
	local e = entity_of(KEYS[i], head) or {}
	local over = string.sub(head, LEASE, LEASE_END) <= stamp
	if over and e.away then
		return e.away
	end
	local kept = string.find(head, '^o[12]P') and
	    string.sub(head, OWNER, OWNER_END) == ARGV[at] and
	    string.sub(head, ATTEMPT, ATTEMPT_END) == ARGV[at + 1] and
	    not (over and e.taken)
	if kept then
		local lease_until = digits(now + ARGV[at + 2])
		local alive = tonumber(ARGV[at + 3])
		redis.call('SETRANGE', KEYS[i], LEASE - 1, lease_until)
		redis.call('PEXPIRE', KEYS[i], alive)
		if e.own and redis.call('PTTL', e.name) < alive then
			redis.call('PEXPIRE', e.name, alive)
		end
		index(KEYS[1], KEYS[i], lease_until, ARGV[1])
	end
	reply[#reply + 1] = kept and 1 or 0
end
return reply
