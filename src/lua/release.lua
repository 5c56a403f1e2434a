#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Releases a key: the attempt did not happen, and only the key's numbers of
-- attempts stay.
-- KEYS: record, leases, held (and, for events, see transitions.lua)
-- ARGV: 1 owner, 2 attempt (6 digits; zeros: whichever this owner has, to
--       revoke a claim whose reply was lost), 3 sent (1: it counts towards
--       max_attempts; 0: provably not sent), 4 retention ms,
--       5 unknown_retention ms, 6 longest ms
-- Answers: DONE; FENCED state (and the record, where it is COMPLETED); GONE;
--       BROKEN.
--
-- Where an earlier attempt is unknown and this one was not sent, and where the
-- owner only asked about an attempt, the record goes back to UNKNOWN.

-- include clock.lua
-- include index.lua
-- include record.lua
-- include transitions.lua

local owner, attempt, sent = ARGV[1], ARGV[2], ARGV[3] == '1'
local r = parse(redis.call('GET', KEYS[1]))
if r == nil then
	return answer('GONE')
elseif r == false then
	return answer('BROKEN')
elseif attempt ~= '000000' and r.attempt ~= attempt then
	return fenced(r)
elseif (r.state == 'R' and r.owner == owner) or
    (r.state == 'U' and r.rest == owner) then
	return answer('DONE', r)
elseif (r.state ~= 'P' and r.state ~= 'U') or r.owner ~= owner then
	return fenced(r)
end

local asking = r.state == 'P' and r.rest ~= ''
if not sent and not asking then
	r.tries = string.format('%06d', math.max(r.tries - 1, 0))
end
if asking or (not sent and string.find(r.reason, '%u')) then
	if r.state == 'U' then
		r.rest = ''
	end
	put_back(r)
	move(r, 'U', ARGV[5], ARGV[6])
else
	set_free(r, ARGV[4])
end
return answer('DONE', r)
