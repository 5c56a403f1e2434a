-- SPDX-License-Identifier: BSD-2-Clause
-- Claims of one turn of a gateway's loop, each by itself, as far as they are
-- usual: of keys that were never used, and of COMPLETED ones.  Of any other
-- nothing is done here, and claim.lua is asked.  No claim of an entity comes
-- here, and none where events are written.
-- KEYS: of each record itself, and its shard's leases
-- ARGV: of each record what is claimed, and before it the claim's terms, unless
--       they are those of the one before, as claim_item.lua has them
-- Answers: the call; Redis' clock, in 13 digits; a letter for each record; and
--       what comes with the letters, in their order:
--       O ours, a first attempt; C COMPLETED, and the record (brief.lua); B the
--       same, and its head and its answer's status; L late; S nothing was done;
--       E Redis refused something of it, and its error.
--
-- There is no "#!lua" line, as in claim.lua.  What is written of a claim begins
-- with the SET of its record.  pcall wherever Redis may refuse something: what
-- is wrong with one is no matter of the others, of which some are done.
--
-- All in one piece: a function of Lua is made anew each time that the script is
-- run, and each costs Redis as much as a GET.

-- include clock.lua
-- include layout.lua
-- include claim_item.lua
-- include anchor.lua

-- So many bytes of answers, at most; those beyond come one by one.  So does all
-- that is behind so many bytes of records: others wait for this run.
local room, patience = 4 * LARGE, 64 * LARGE

local byte, sub, format = string.byte, string.sub, string.format
local try = redis.pcall
local reply, letters = {call, stamp, ''}, {}
-- What terms come to, and the argument that is next.
local late, unsafe, confirm, brevity, start, lease_until, ends, anchor, longest
local at = 1

for i = 1, #KEYS, 2 do
	local key, leases, item = KEYS[i], KEYS[i + 1], ARGV[at]
	if byte(item) == BLANK then
		local deadline = sub(item, DEADLINE, DEADLINE_END)
		late = stamp > deadline and deadline ~= NO_DEADLINE
		-- A digit's byte has the lowest bits of the digit.
		local caution = byte(item, CAUTION)
		unsafe, confirm = caution % 2 == 1, caution % 4 >= 2
		brevity = byte(item, WANTS) % 4 >= 2
		local lease_ms, alive_ms, most = string.match(item,
		    '^(%d+) (%d+) %d+ %d+ (%d+) ', TERMS)
		lease_until = format('%013d', now + lease_ms)
		start = 'o1P-000001000001' .. stamp .. stamp .. lease_until
		ends = format('%d', now + alive_ms)
		anchor = format('%d', now - now % MINUTE + most)
		longest = most
		at = at + 1
		item = ARGV[at]
	end
	at = at + 1
	-- The record is ours where none was there.  A full Redis refuses that,
	-- and has what is there all the same.
	local looks, value, refused = patience > 0 and not late, false, unsafe
	if looks and not unsafe then
		value = try('SET', key, start .. item, 'NX', 'GET', 'PXAT',
		    ends)
		refused = value and value.err and value
	end
	if looks and refused then
		value = try('GET', key)
	end
	local letter = 'S'
	if not looks then
		letter = late and 'L' or 'S'
	elseif value and value.err then
		-- As any other that is not usual.
	elseif not value and not unsafe then
		local done = refused or try('ZADD', leases, 'CH', anchor,
		    ANCHOR, lease_until, sub(key, -32))
		if type(done) == 'number' then
			letter = 'O'
			-- The name is new, or is the only one that is not.
			if done > 1 then
				-- include shard_index.lua
				pcall(index_keep, leases, anchor, longest)
			end
		else
			letter = 'E'
			reply[#reply + 1] = done
		end
	elseif value and sub(value, 1, STATE) == 'o1C' and
	    (#value >= LARGE or #value <= room) and
	    sub(value, PRINT, PRINT_END) == sub(item, 1 + TOKEN, 2 * TOKEN) and
	    (not confirm or sub(value, MARK, MARK) == '+') then
		local told, status = value, nil
		if brevity or #value >= LARGE then
			-- include brief.lua
			told, status = brief(value, brevity)
		end
		room = room - #told
		reply[#reply + 1] = told
		reply[#reply + 1] = status
		letter = status and 'B' or 'C'
	end
	patience = patience - (value and #value or 0)
	letters[(i + 1) / 2] = letter
end
reply[3] = table.concat(letters)
return reply
