-- SPDX-License-Identifier: BSD-2-Clause
-- Makes the record of an attempt again, whose record is gone: Redis has come
-- back without it, or an operator has deleted it.  Include it behind
-- transitions.lua and entities.lua.

-- Whether Redis has forgotten the attempt although it has a record: that is of
-- an owner that came later, made it anew, and executed nothing.  Numbers of
-- attempts only rise as long as nothing is forgotten.  What an operator has set
-- free is NOBODY's, and stays free.  Or it was damaged, and deleted.
local function forgotten(r, owner, attempt)
	return r and (was_damaged(r) or (r.state == 'R' and
	    r.owner ~= owner and r.owner ~= NOBODY and
	    r.attempt <= attempt))
end

-- The record, not stored yet, of the arguments from the given one on:
-- fingerprint, tries (6 digits), created ms (13 digits), provenance; and of
-- what the request changes (entities.lua) the end of its key's name, its
-- version, that as JSON, and how long it is remembered, ms.  nil where the
-- script was not given them.  old: the record in its place, if any.
local function make_again(first, old, owner, attempt)
	if not ARGV[first + 3] then
		return nil
	end
	local r = {
		again = true, state = old and old.state,
		owner = owner, attempt = attempt,
		fingerprint = ARGV[first], tries = ARGV[first + 1],
		created = ARGV[first + 2], provenance = ARGV[first + 3],
		known = ARGV[first + 3],
		reason = '-', lease_until = stamp, rest = '', before = '',
	}
	if ARGV[first + 7] then
		entity_note(r, first + 4, ARGV[first + 7])
	end
	return r
end
