-- SPDX-License-Identifier: BSD-2-Clause
-- While a cluster moves a slot, each of its keys is on one server or the other,
-- and on the wrong one it looks like none.  Of keys in KEYS Redis itself takes
-- care; one whose name follows from what another says cannot stand there.

-- What a script is to answer where one of two keys of a slot may be on another
-- server; nil: both are where they belong, or nowhere.  Redis is asked: of a
-- slot that moves, and of no other, it refuses a command of several keys of
-- which one is missing, Redis 8 in other words than 7.  The gateway takes it
-- for Redis' own answer, and tries again: nothing may have been written yet
-- that must not be repeated.
local function apart(one, other)
	local found = redis.pcall('EXISTS', one, other)
	if type(found) ~= 'table' then
		return nil
	elseif not string.find(found.err, 'non local key', 1, true) and
	    not string.find(found.err, 'undeclared keys', 1, true) then
		return found
	end
	return {err = 'TRYAGAIN ' .. other .. ' is on its way to a server'}
end
