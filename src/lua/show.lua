#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Shows a record to the operator; changes nothing.
-- KEYS: record, leases, held
-- ARGV: 1 whole (1: all of it; 0: without a stored answer)
-- Answers: DONE state ms-left record; GONE; BROKEN.

-- include clock.lua
-- include index.lua
-- include record.lua
-- include transitions.lua

local value = redis.call('GET', KEYS[1])
local r = parse(value)
if r == nil then
	return answer('GONE')
elseif r == false then
	return answer('BROKEN')
elseif ARGV[1] == '0' and r.state == 'C' then
	value = string.sub(value, 1, string.find(value, '\n', ROUTE, true))
end
return answer('DONE', r, r.state, redis.call('PEXPIRETIME', KEYS[1]) - now,
    value)
