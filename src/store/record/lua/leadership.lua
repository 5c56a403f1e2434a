#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Who leads: one gateway at a time reads an ordered stream, or runs a relay.
-- KEYS: the leadership
-- ARGV: 1 act (take, which also renews; give), 2 the gateway's token,
--       3 lease ms, 4 the term that it has, 0 where it has none, 5 what is led
--       (publish.lua)
-- Answers: OURS term; IN_FLIGHT ms-left token, it is another's; and of give
--       DONE, or FENCED where there was nothing to give.
--
-- The term only grows: it is the time at which leadership was taken, by Redis'
-- clock, or more where that has not moved, or has moved back.  So it also grows
-- where Redis has lost the last one.

-- include clock.lua
-- include publish.lua

local KEEP = 30 * 24 * 3600 * 1000
local act, token, lease, own = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]

local term, ends, holder = string.match(
    redis.call('GET', KEYS[1]) or '', '^(%d+) (%d+) (%S+)$')
term, ends = tonumber(term) or 0, tonumber(ends) or 0
if term >= 2^53 then -- damaged: no clock says that
	term = 0
end

local function write(till, whose)
	redis.call('SET', KEYS[1], string.format('%.0f %.0f %s', term, till,
	    whose), 'PX', KEEP)
end

if act == 'give' then
	if holder ~= token then
		return {'FENCED', 0, now, call}
	end
	write(0, '-')
	announce(ARGV[5], 'leadership')
	return {'DONE', 0, now, call}
end

if holder ~= token and ends > now then
	-- The clock was set back: nobody's lease is longer than a lease.
	if ends > now + lease then
		ends = now + lease
		write(ends, holder)
	end
	return {'IN_FLIGHT', 0, now, call, string.format('%.0f', ends - now),
	    holder}
end
if holder ~= token or tonumber(own) ~= term then
	term = math.max(term + 1, now)
end
write(now + lease, token)
return {'OURS', 0, now, call, string.format('%.0f', term)}
