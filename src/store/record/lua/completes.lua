#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Stores answers of one turn of a gateway's loop, each by itself, as far as
-- that is usual: the record is PROCESSING under this owner and attempt, nobody
-- else knows of it, and no event is to be written.  Of any other nothing is
-- done here, and complete.lua is asked.
-- KEYS: of each record itself, and its shard's leases
-- ARGV: of each record owner, attempt (6 digits), retention ms, the answer
-- Answers: the call; Redis' clock, in 13 digits; a letter for each record:
--       D done; S nothing was done.
--
-- All in one piece, as claims.lua is, and pcall for the same reason: a SET is
-- refused to all, before the first, or to none.

-- include clock.lua
-- include layout.lua

local sub, find = string.sub, string.find
local letters, ends, keep = '', nil, nil
-- Redis takes no leading zeros, which a record has.
local ends_digits

for at = 1, #ARGV - 1, 4 do
	local key, leases = KEYS[(at + 1) / 2], KEYS[(at + 3) / 2]
	local value = redis.pcall('GET', key)
	local letter = 'S'
	local _, last = find(value and not value.err and value or '',
	    '^o1P%-%d+')
	if last and last >= LEASE_END and
	    sub(value, ATTEMPT, ATTEMPT_END) == ARGV[at + 1] and
	    sub(value, OWNER, OWNER_END) == ARGV[at] and
	    sub(value, MARK, MARK) == '\n' and
	    find(value, '\n', ROUTE, true) == #value then
		if ARGV[at + 2] ~= keep then
			keep = ARGV[at + 2]
			ends = string.format('%d', now + keep)
			ends_digits = string.format('%013d', now + keep)
		end
		redis.call('SET', key, 'o1C-' .. sub(value, ATTEMPT,
		    CREATED_END) .. stamp .. ends_digits .. sub(value, OWNER) ..
		    ARGV[at + 3], 'PXAT', ends)
		redis.pcall('ZREM', leases, sub(key, -32))
		letter = 'D'
	end
	letters = letters .. letter
end
return {call, stamp, letters}
