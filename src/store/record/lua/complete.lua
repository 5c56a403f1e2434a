#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Stores the answer of an attempt: it is what every retry is given.
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 a blank, the attempt (6 digits), and the retention (ms), and behind
--       it, of an owner that asked, what is noted down (note_down()); 2 owner,
--       and behind it what stands for the label (labels.lua), if it has one;
--       3 the answer, 4 its status; and where the record is to be made again if
--       it is gone, 5 fingerprint, 6 tries, 7 created ms, 8 provenance, and
--       9 to 12 of an entity (make_again.lua)
-- Answers: DONE; FENCED state (and the record, where it is COMPLETED; or
--       BEFORE, where this attempt may yet turn out to be the last one); GONE;
--       BROKEN.
--
-- The truth about an attempt is welcome as long as no other attempt is under
-- way in its place: after its lease expired, from an UNKNOWN or a FAILED, and
-- also while another owner asks the upstream about it.  That goes for the
-- attempts before, too, of which nothing was known: nothing better is known of
-- the last one.

-- include clock.lua
-- include shard_index.lua
-- include record.lua

local attempt = string.sub(ARGV[1], 2, 7)
local retention, act = string.match(ARGV[1], '^(%d+)(.*)$', 8)
local owner, label = string.sub(ARGV[2], 1, 22), string.sub(ARGV[2], 23)
local value = redis.call('GET', KEYS[1])

-- include transitions.lua
-- include entities.lua
-- include make_again.lua
-- include labels.lua

local r = parse(value)
if r == nil or forgotten(r, owner, attempt, 5) then
	r = make_again(5, r, owner, attempt)
end
if r == nil then
	return answer('GONE')
elseif r == false then
	return answer('BROKEN')
end

local earlier = was_before(r, owner, attempt)
if earlier and r.state == 'P' then
	-- Nothing may come of the present attempt: then this truth is welcome.
	return answer('FENCED', r, r.state, 'BEFORE')
elseif r.attempt ~= attempt and not earlier then
	return fenced(r)
elseif r.state == 'C' and r.owner == owner then
	-- It was done before, and may be repeated because too few replicas had
	-- it.
	touch(value)
	return answer('DONE', r)
elseif earlier or r.again or ((r.state == 'P' or r.state == 'U') and
    (r.owner == owner or r.asked == owner or
	was_put_back(r, owner, attempt))) or
    (r.state == 'F' and r.owner == owner) then
	local away = r.version and entity_apart(r.entity)
	if away then
		return away
	end
	if act ~= '' then
		note_down(r, act)
	end
	r.attempt, r.owner, r.reason = attempt, owner, '-'
	r.rest, r.status = ARGV[3], ARGV[4]
	move(r, 'C', retention)
	entity_raise(r)
	index_label(label, KEYS[2], KEYS[1], r.lease_until)
	return answer('DONE', r)
end
return fenced(r)
