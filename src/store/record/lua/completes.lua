#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- Stores answers of one turn of a gateway's loop, each by itself, as far as
-- that is usual: the record is PROCESSING under this owner and attempt, nobody
-- else knows of it, and no event is to be written.  Of any other nothing is
-- done here, and complete.lua is asked.
-- KEYS: of each record itself, and its shard's leases
-- ARGV: of each record owner and answer, and before them, unless it is that of
--       the one before, complete.lua's first: blank, attempt, retention ms
-- Answers: the call; Redis' clock, in 13 digits; a letter for each record:
--       D done; S nothing was done.
--
-- All in one piece, as claims.lua is, and pcall for the same reason: a SET is
-- refused to all, before the first, or to none.

-- include clock.lua
-- include layout.lua

local byte, sub, find, BLANK = string.byte, string.sub, string.find, 32
local try, TOKEN = redis.pcall, 22
-- How the records begin, what they become, and the argument that is next.
local letters, mine, done, times, ends = {}, nil, nil, nil, nil
local at = 1

for i = 1, #KEYS, 2 do
	local key, owner = KEYS[i], ARGV[at]
	if byte(owner) == BLANK then
		mine = 'o1P-' .. sub(owner, 2, 7)
		done = 'o1C-' .. sub(owner, 2, 7)
		-- Redis takes no leading zeros, which a record has.
		ends = string.format('%d', now + sub(owner, 8))
		times = stamp .. string.format('%013d', ends)
		at = at + 1
		owner = ARGV[at]
	end
	local label
	if #owner > TOKEN then
		label, owner = sub(owner, TOKEN + 1), sub(owner, 1, TOKEN)
	end
	local value = try('GET', key)
	local letter = 'S'
	if type(value) ~= 'string' then
		value = '' -- none, of another type, or not ours to read
	end
	-- What is not told anew: tries, and when it was created.
	local kept = sub(value, TRIES, CREATED_END)
	if sub(value, 1, ATTEMPT_END) == mine and
	    #kept == CREATED_END - TRIES + 1 and find(kept, '^%d+$') and
	    sub(value, OWNER, OWNER_END) == owner and
	    sub(value, MARK, MARK) == '\n' and
	    find(value, '\n', ROUTE, true) == #value then
		redis.call('SET', key, done .. kept .. times ..
		    sub(value, OWNER) .. ARGV[at + 1], 'PXAT', ends)
		try('ZREM', KEYS[i + 1], sub(key, -32))
		if label then
			-- include labels.lua
			index_label(label, KEYS[i + 1], key, ends)
		end
		letter = 'D'
	end
	at = at + 2
	letters[(i + 1) / 2] = letter
end
return {call, stamp, table.concat(letters)}
