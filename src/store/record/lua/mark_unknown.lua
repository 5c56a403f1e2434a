#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Marks a record unknown: the attempt was sent, and its outcome is not known.
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 owner, 2 attempt (6 digits), 3 reason letter, a capital one where the
--       witness says `started`, and behind it, of an owner that asked, what
--       is noted down (note_down()), or nothing,
--       4 unknown_retention ms, 5 longest ms; and where the record is to be
--       made again if it is gone, 6 fingerprint, 7 tries, 8 created ms,
--       9 provenance, and 10 to 13 of an entity (make_again.lua)
-- Answers: DONE; FENCED state (and the record, where it is COMPLETED); GONE;
--       BROKEN.
--
-- An owner that asked the upstream about an attempt, and got no usable answer,
-- puts the record back with the reason and the time to live that it had.

-- include clock.lua
-- include shard_index.lua
-- include record.lua
-- include transitions.lua
-- include entities.lua
-- include make_again.lua

local owner, attempt = ARGV[1], ARGV[2]
local letter, act = string.sub(ARGV[3], 1, 1), string.sub(ARGV[3], 2)
local reason = string.lower(letter)
local r = parse(redis.call('GET', KEYS[1]))
if r == nil or (forgotten(r, owner, attempt, 6) and
    not was_put_back(r, owner, attempt)) then
	r = make_again(6, r, owner, attempt)
end
if r == nil then
	return answer('GONE')
elseif r == false then
	return answer('BROKEN')
elseif r.attempt ~= attempt then
	return fenced(r)
elseif r.again or (r.state == 'P' and r.owner == owner) then
	if r.asked then
		put_back(r)
		if act ~= '' then
			note_down(r, act)
		end
	else
		r.reason, r.lease_until = reason, stamp
	end
	if letter ~= reason then
		r.started = r.started or stamp
	end
	move(r, 'U', ARGV[4], ARGV[5])
	return answer('DONE', r)
elseif (r.state == 'P' or r.state == 'U') and
    (r.owner == owner or r.asked == owner or
	was_put_back(r, owner, attempt)) then
	return answer('DONE', r)
end
return fenced(r)
