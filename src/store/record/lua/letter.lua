#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- What becomes of a letter that was written (letter_put.lua).
-- KEYS: as in letter_keys.lua
-- ARGV: 1 act, 2 id, 3 lane, 4 whose letters (publish.lua), 5 owner, 6 replay
--       or drop; of put_back also 7 reason and 8 head, which are empty where
--       they stay as they were
-- act: find, is there one; show, the same, and all of it;
--       confirm, its broker has acknowledged the message; to drop it, it was
--       dropped, and so is the letter to be;
--       begin, that owner has it for a lease, to replay or to drop it;
--       ask, the same, but nobody has it yet: an operator wants it;
--       renew, the owner has it for another lease;
--       put_back, the owner leaves it, and it stays a letter;
--       end, the owner is done with it, and it is gone.
-- Answers: DONE with the letter, of show and begin with head and body, of begin
--       begun for its state only where another owner had begun it before, of
--       end with the next of its lane, if there is one, which is begun for the
--       same owner, to be replayed, and its head.  GONE: there is no such
--       letter.
--       REFUSED (begin, ask): it is not confirmed, or somebody has it, or is to
--       have it for something else, or it is to be replayed and parked;
--       (confirm): it is to be dropped, and somebody replays it.
--       FENCED (renew, put_back, end): the owner does not have it.
--
-- Each act may be repeated: the second time it changes nothing.

-- include clock.lua

-- include letter_keys.lua

local act, id, lane, whose = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local owner, purpose = ARGV[5], ARGV[6]
local letter = letter_at(id)

local function write(one, state, what, whom, ends)
	one.state, one.act, one.owner, one.ends = state, what, whom, ends
	redis.call('HSET', KEYS[1] .. one.id, 'state', state, 'act', what,
	    'owner', whom, 'until', string.format('%.0f', ends))
	if state == 'begun' then
		redis.call('ZADD', KEYS[7], ends, one.id)
	else
		redis.call('ZREM', KEYS[7], one.id)
	end
end

-- Takes it out of its lane and all indexes.
local function take_out(one, its_lane)
	redis.call('DEL', KEYS[1] .. one)
	for i = 4, 7 do
		redis.call('ZREM', KEYS[i], one)
	end
	if its_lane ~= '' then
		redis.call('ZREM', KEYS[2] .. its_lane, one)
	end
end

-- What is the first of the lane now; nil: the lane is gone.  A letter that was
-- deleted by hand holds up nobody.
local function next_of(its_lane)
	local one = first_of(its_lane)
	while one and not letter_at(one) do
		take_out(one, its_lane)
		one = first_of(its_lane)
	end
	return one and letter_at(one)
end

if not letter then
	-- Whoever ended it may not have heard of it.
	local first = act == 'end' and first_of(lane)
	local after = first and letter_at(first)
	if after and after.state == 'begun' and after.owner == owner then
		return about('DONE', after, lane, 'head')
	end
	return about('GONE', nil, lane)
end

local is_mine = letter.state == 'begun' and letter.owner == owner

if act == 'find' or act == 'show' then
	-- See letter_put.lua: once more, for the replicas.
	redis.call('HSET', KEYS[1] .. id, 'state', letter.state)
	if act == 'show' then
		return about('DONE', letter, lane, 'head', 'body')
	end

elseif act == 'confirm' then
	redis.call('ZREM', KEYS[6], id)
	if purpose == 'drop' and (letter.state ~= 'begun' or
	    letter.owner == '') then
		write(letter, 'begun', 'drop', '', 0)
		tell(whose)
	elseif purpose == 'drop' and letter.act ~= 'drop' then
		return about('REFUSED', letter, lane)
	-- It was waited for, as its lane is being replayed (end).
	elseif letter.state == 'written' and letter.act ~= '' and
	    not is_parked(letter) then
		write(letter, 'begun', letter.act, '', 0)
		tell(whose)
	elseif letter.state == 'written' then
		write(letter, 'confirmed', '', '', 0)
	end

elseif act == 'begin' or act == 'ask' then
	local asked = act == 'ask'
	if letter.state == 'written' or
	    (purpose == 'replay' and is_parked(letter)) then
		return about('REFUSED', letter, lane)
	elseif letter.state == 'begun' and not is_mine then
		local same = letter.act == purpose
		-- The clock was set back: nobody's lease is longer than one.
		if letter.ends > now + LEASE then
			write(letter, 'begun', letter.act, letter.owner,
			    now + LEASE)
		end
		if asked and same then
			return about('DONE', letter, lane)
		elseif not same and not (asked and letter.owner == '') or
		    not asked and letter.ends > now then
			return about('REFUSED', letter, lane)
		end
	end
	local had = letter.state == 'begun' and letter.owner ~= '' and
	    not is_mine
	write(letter, 'begun', purpose, asked and '' or owner,
	    asked and 0 or now + LEASE)
	if asked then
		tell(whose)
	else
		letter.state = had and 'begun' or 'confirmed'
		return about('DONE', letter, lane, 'head', 'body')
	end

elseif act == 'put_back' and letter.state == 'confirmed' and
    letter.owner == owner then
	return about('DONE', letter, lane) -- it was heard before

elseif not is_mine then
	return about('FENCED', letter, lane)

elseif act == 'renew' then
	write(letter, 'begun', letter.act, owner, now + LEASE)

elseif act == 'put_back' then
	write(letter, 'confirmed', '', owner, 0)
	if ARGV[8] ~= '' then
		redis.call('HSET', KEYS[1] .. id, 'reason', ARGV[7], 'head',
		    ARGV[8])
	end

elseif act == 'end' then
	local was_first = letter.lane ~= '' and not is_parked(letter)
	take_out(id, letter.lane)
	local after = was_first and next_of(letter.lane)
	if was_first and not after then
		redis.call('ZREM', KEYS[3], letter.lane)
		tell(whose)
	end
	if not after then
		return about('DONE', nil, lane)
	end
	redis.call('ZREM', KEYS[5], after.id)
	redis.call('ZADD', KEYS[4], after.put, after.id)
	if after.state == 'confirmed' then
		write(after, 'begun', 'replay', owner, now + LEASE)
		return about('DONE', after, lane, 'head')
	elseif after.state == 'written' then
		write(after, 'written', 'replay', '', 0)
	end
	return about('DONE', nil, lane)
end
return about('DONE', letter, lane)
