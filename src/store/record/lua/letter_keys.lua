-- SPDX-License-Identifier: BSD-2-Clause
-- What the scripts of letters have in common: a letter, its lane, and the
-- indexes of its shard (src/messages/shared/letters.h).  Include clock.lua
-- before it.
-- KEYS: 1 what a letter's name begins with, 2 what a lane's begins with; 3 the
--       lanes; 4 the letters that are dead, 5 those that are parked behind one
--       of their lane, 6 those that are written and not confirmed, all by when
--       they were put; 7 those that are begun, by the end of their lease
--
-- Names of letters and lanes end with 32 hex digits, in the same shard and so
-- in the same slot.  What they begin with is no key: so a cluster that is
-- moving the slot refuses all of this (TRYAGAIN), and none of them is taken for
-- absent that is on its way to another server.
--
-- A letter is a hash: state, act, owner, until (the end of its lease), lane
-- (empty: it stands alone), put (when), reason, and head and body, which may be
-- sealed.  A lane is a sorted set of letters in their order, which is gone with
-- the last of them.  Nothing here has an end.

-- include publish.lua

local LEASE = 15000
local STATES = {written = true, confirmed = true, begun = true}

local function is_digest(text)
	return #text == 32 and not string.find(text, '%X')
end

-- nil: there is none.  What was damaged is WRITTEN, and nobody may begin it.
local function letter_at(id)
	local all = redis.call('HMGET', KEYS[1] .. id, 'state', 'act', 'owner',
	    'until', 'lane', 'put', 'reason')
	if not all[1] then
		return nil
	end
	local lane = all[5] or ''
	return {id = id, state = STATES[all[1]] and all[1] or 'written',
	    act = all[2] or '', owner = all[3] or '',
	    ends = tonumber(all[4]) or 0, lane = is_digest(lane) and lane or '',
	    put = math.max(math.min(tonumber(all[6]) or 0, 9999999999999), 0),
	    reason = all[7] or ''}
end

local function first_of(lane)
	return lane ~= '' and redis.call('ZRANGE', KEYS[2] .. lane, 0, 0)[1]
end

local function is_parked(letter)
	return letter.lane ~= '' and first_of(letter.lane) ~= letter.id
end

-- Gateways that have the source look at the shard, and at no other.
local function tell(whose)
	announce(whose, 'letters ' .. string.match(KEYS[1], '{(%d+)}'))
end

-- Adds the letter's id, state, act, lane, when it was put, "1" where it is
-- parked, reason, and those of its texts.
local function say(reply, letter, ...)
	for _, text in ipairs({letter.id, letter.state, letter.act, letter.lane,
	    string.format('%.0f', letter.put),
	    is_parked(letter) and '1' or '', letter.reason}) do
		reply[#reply + 1] = text
	end
	for _, text in ipairs({...}) do
		reply[#reply + 1] =
		    redis.call('HMGET', KEYS[1] .. letter.id, text)[1] or ''
	end
	return reply
end

-- The verdict; how many are dead and how many parked in the shard; "1" where
-- the lane that was asked about is there; and of the letter, if there is one.
local function about(word, letter, lane, ...)
	local reply = {word, 0, now, call,
	    string.format('%.0f', redis.call('ZCARD', KEYS[4])),
	    string.format('%.0f', redis.call('ZCARD', KEYS[5])),
	    first_of(lane) and '1' or ''}
	return letter and say(reply, letter, ...) or reply
end
