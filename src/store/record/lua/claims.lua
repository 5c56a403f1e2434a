-- SPDX-License-Identifier: BSD-2-Clause
-- Claims of one turn of a gateway's loop, each by itself, as far as they are
-- usual: of keys that were never used, and of COMPLETED ones.  Of any other
-- nothing is done here, and claim.lua is asked.  No claim of an entity comes
-- here, and none where events are written.
-- KEYS: of each record itself, and its shard's leases
-- ARGV: of each record its claim, as claim_item.lua has it
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

local sub, find, format = string.sub, string.find, string.format
local try = redis.pcall
local reply, letters = {call, stamp, ''}, ''
local terms, lease_until, ends, anchor, longest

for i = 1, #ARGV - 1 do
	local key, leases, item = KEYS[2 * i - 1], KEYS[2 * i], ARGV[i]
	local line = find(item, '\n', TERMS, true)
	-- A digit's byte has the lowest bits of the digit.
	local caution = string.byte(item, CAUTION)
	local value = patience > 0 and try('GET', key)
	local letter = 'S'
	local deadline = sub(item, 1, DEADLINE_END)
	if patience <= 0 or (value and value.err) then
		-- As any other that is not usual.
	elseif stamp > deadline and deadline ~= NO_DEADLINE then
		letter = 'L'
	elseif not value and caution % 2 == 0 then
		if sub(item, TERMS, line) ~= terms then
			terms = sub(item, TERMS, line)
			local lease_ms, alive_ms, most = string.match(terms,
			    '^(%d+) (%d+) %d+ %d+ (%d+) ')
			lease_until = format('%013d', now + lease_ms)
			ends = format('%d', now + alive_ms)
			anchor = format('%d', now - now % MINUTE + most)
			longest = most
		end
		local done = try('SET', key, 'o1P-000001000001' .. stamp ..
		    stamp .. lease_until .. sub(item, line + 1) ..
		    '\n', 'PXAT', ends)
		if not done.err then
			done = try('ZADD', leases, 'CH', anchor, ANCHOR,
			    lease_until, sub(key, -32))
		end
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
	    sub(value, PRINT, PRINT_END) ==
	    sub(item, line + 1 + TOKEN, line + 2 * TOKEN) and
	    (caution % 4 < 2 or sub(value, MARK, MARK) == '+') then
		local brevity = string.byte(item, WANTS) % 4 >= 2
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
	letters = letters .. letter
end
reply[3] = letters
return reply
