-- SPDX-License-Identifier: BSD-2-Clause
-- Makes the record of an attempt again, whose record is gone: Redis has come
-- back without it, or as it was before, or an operator has deleted it.  Include
-- it behind transitions.lua and entities.lua.

-- Whether Redis has forgotten the attempt although it has a record.  Numbers of
-- attempts only rise as long as nothing is forgotten: so it has where the
-- record is of one before, unless that is of a later life of the key, which
-- began after this attempt was claimed (as far as the script is told when, by
-- the arguments of make_again()).  What has its answer stays, what somebody is
-- at, and what an operator has set free of this attempt: that is NOBODY's.  An
-- owner that came later, made the record anew, and executed nothing does not
-- count; nor does what was damaged, and deleted.
local function forgotten(r, owner, attempt, first)
	if not r or was_damaged(r) then
		return r
	elseif r.state == 'R' and r.owner ~= owner and r.owner ~= NOBODY then
		return r.attempt <= attempt
	end
	local over = r.state == 'P' and r.lease_until <= stamp
	return (over or string.find(r.state, '[RUF]')) and
	    r.attempt < attempt and
	    (not ARGV[first + 3] or r.created <= ARGV[first + 2])
end

-- The provenance of an outcome, and what operators did of that key.
local function with_acts(provenance, old)
	local _, _, own = string.match(provenance, FROM)
	local _, _, acts = string.match(old and old.known or '', FROM)
	return own == '' and acts and provenance .. acts or provenance
end

-- The record, not stored yet, of the arguments from the given one on:
-- fingerprint, tries (6 digits), created ms (13 digits), provenance; and of
-- what the request changes (entities.lua) the end of its key's name, its
-- version, that as JSON, and how long it is remembered, ms.  nil where the
-- script was not given them.  old: the record in its place, if any; who waits
-- for that waits for this one, and the truth about the attempts before stays
-- welcome.
local function make_again(first, old, owner, attempt)
	if not ARGV[first + 3] then
		return nil
	end
	local provenance = with_acts(ARGV[first + 3], old)
	local r = {
		again = true, state = old and old.state,
		owner = owner, attempt = attempt,
		fingerprint = ARGV[first], tries = ARGV[first + 1],
		created = ARGV[first + 2], provenance = provenance,
		known = provenance,
		held = old and old.held, mark = old and old.mark,
		reason = '-', lease_until = stamp, rest = '', before = '',
	}
	if old and string.find(old.state, '[PU]') and not was_damaged(old) and
	    attempt - old.attempt == 1 then
		if old.state == 'P' then
			expire(old)
		end
		keep_before(old)
		r.before = old.before
	end
	if ARGV[first + 7] then
		entity_note(r, first + 4, ARGV[first + 7])
	end
	return r
end
