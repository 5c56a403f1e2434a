#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Shows a record to the operator; changes nothing.
-- KEYS: record, leases, held
-- ARGV: 1 whole (1: all of it; 0: without a stored answer; 2: the same, and the
--       answer's status)
-- Answers: DONE state ms-left record, or its head and the status ('' where that
--       cannot be read here); GONE; BROKEN.

-- include clock.lua
-- include shard_index.lua
-- include record.lua
-- include transitions.lua

local value = redis.call('GET', KEYS[1])
local r = parse(value)
if r == nil then
	return answer('GONE')
elseif r == false then
	return answer('BROKEN')
end
local status
if ARGV[1] ~= '1' and r.state == 'C' then
	local line = string.find(value, '\n', ROUTE, true)
	status = ARGV[1] == '2' and (status_of(value, line) or '') or nil
	value = string.sub(value, 1, line)
end
return answer('DONE', r, r.state, redis.call('PEXPIRETIME', KEYS[1]) - now,
    value, status)
