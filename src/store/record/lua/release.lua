#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Releases a key: the attempt did not happen, and only the key's numbers of
-- attempts stay, and for people, what was sent.
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 owner, 2 attempt (6 digits; zeros: whichever this owner has, to
--       revoke a claim whose reply was lost), 3 sent (0: provably not; 1: it
--       counts towards max_attempts; 2: and is to be forgotten; 3: it does not
--       count; 4: and is to be forgotten), 4 retention ms, 5 unknown_retention
--       ms, 6 longest ms
-- Answers: DONE, or DONE U where the attempt before is UNKNOWN again; FENCED
--       state (and the record, where it is COMPLETED); GONE; BROKEN.
--
-- An owner that only asked about an attempt puts it back; one of which nothing
-- was sent leaves the attempt before, if that is unknown, as it was.  What is
-- to be forgotten leaves nothing, if nobody knows of another attempt: its
-- number may come again then.  Where Redis has forgotten the attempt, and the
-- one before was released, the key is free already.

-- include clock.lua
-- include shard_index.lua
-- include record.lua
-- include transitions.lua
-- include entities.lua

local owner, attempt, sent = ARGV[1], ARGV[2], ARGV[3] ~= '0'
local counts = ARGV[3] == '1' or ARGV[3] == '2'
local forget = ARGV[3] == '2' or ARGV[3] == '4'
local r = parse(redis.call('GET', KEYS[1]))
if r == nil then
	return answer('GONE')
elseif r == false then
	return answer('BROKEN')
elseif r.state == 'U' and was_put_back(r, owner, attempt) then
	return answer('DONE', r, 'U')
elseif r.state == 'R' and r.attempt < attempt then
	return answer('GONE')
elseif attempt ~= '000000' and r.attempt ~= attempt then
	return fenced(r)
elseif r.state == 'R' and r.owner == owner then
	return answer('DONE', r)
elseif (r.state ~= 'P' and r.state ~= 'U') or r.owner ~= owner then
	return fenced(r)
end

if r.asked then
	put_back(r)
	move(r, 'U', ARGV[5], ARGV[6])
	return answer('DONE', r, 'U')
end
if not counts then
	r.tries = string.format('%06d', math.max(r.tries - 1, 0))
end
if not sent and r.before ~= '' then
	restore_before(r)
	move(r, 'U', ARGV[5], ARGV[6])
	return answer('DONE', r, 'U')
else
	local only = r.attempt == '000001' and r.before == '' and not r.back
	forget = forget and only
	local away = forget and r.entity and entity_apart(r.entity)
	if away then
		return away
	end
	set_free(r, ARGV[4], sent or r.sent or r.tries ~= '000000')
	if forget then
		redis.call('DEL', KEYS[1])
		entity_forget(r)
	end
end
return answer('DONE', r)
