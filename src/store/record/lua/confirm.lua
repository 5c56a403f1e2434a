#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Notes in a COMPLETED record that as many replicas have it as must
-- (store.wait_replicas), so that it is replayed without asking them again.
-- KEYS: record, leases, held
-- ARGV: 1 owner of the record
-- Answers: DONE; GONE where it is another record by now.

-- include clock.lua
-- include record.lua

local head = redis.call('GETRANGE', KEYS[1], 0, MARK - 1)
if string.sub(head, 1, STATE) ~= 'o1C' or
    string.sub(head, OWNER, OWNER_END) ~= ARGV[1] then
	return {'GONE', 0, now, call}
end
redis.call('SETRANGE', KEYS[1], MARK - 1, '+')
return {'DONE', 0, now, call}
