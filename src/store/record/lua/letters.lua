#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- Letters of one shard (letter_keys.lua), as they are.
-- KEYS: as in letter_keys.lua
-- ARGV: 1 act, and of list 2 which are wanted (d, p or dp), 3 where to go on
--       (13 digits and the id of the last one seen, or nothing), 4 how many at
--       most
-- act: look, what who has the source must know; list, a page.
-- Answers: DONE; of look with how many are dead and how many parked, the lanes
--       (32 digits each), those that are written (id, lane, when it was put, 13
--       digits), and those that are begun and nobody renews (id, lane, and r to
--       replay or d to drop it), each of them one text, a lane of one that
--       stands alone in dashes; of list with each letter and its head.

-- include clock.lua
-- include letter_keys.lua

local act = ARGV[1]

local function digits(ms)
	return string.format('%013.0f', ms)
end

if act == 'look' then
	local lanes, written, begun = {}, {}, {}
	for _, lane in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do
		lanes[#lanes + 1] = is_digest(lane) and lane or nil
	end
	local function add(list, ids, rest)
		for _, id in ipairs(ids) do
			local letter = is_digest(id) and letter_at(id)
			if letter then
				list[#list + 1] = id
				list[#list + 1] = letter.lane ~= '' and
				    letter.lane or string.rep('-', 32)
				list[#list + 1] = rest(letter)
			end
		end
	end
	local function purpose(letter)
		return letter.act == 'replay' and 'r' or 'd'
	end
	add(written, redis.call('ZRANGE', KEYS[6], 0, -1),
	    function(letter) return digits(letter.put) end)
	add(begun, redis.call('ZRANGE', KEYS[7], '-inf', now, 'BYSCORE'),
	    purpose)
	-- The clock was set back: nobody's lease is longer than one.
	add(begun, redis.call('ZRANGE', KEYS[7], '(' ..
	    string.format('%.0f', now + LEASE), '+inf', 'BYSCORE'), purpose)
	return {'DONE', 0, now, call,
	    string.format('%.0f', redis.call('ZCARD', KEYS[4])),
	    string.format('%.0f', redis.call('ZCARD', KEYS[5])),
	    table.concat(lanes), table.concat(written), table.concat(begun)}
end

local wanted, after, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
local found = {}

local function gather(index)
	local from = after == '' and '-inf' or string.sub(after, 1, 13)
	local seen, enough = 0, #found + limit
	repeat
		local page = redis.call('ZRANGE', index, from, '+inf',
		    'BYSCORE', 'LIMIT', seen, 100)
		for _, id in ipairs(page) do
			local letter = is_digest(id) and letter_at(id)
			local place = letter and digits(letter.put) .. id
			if letter and place > after and #found < enough then
				letter.place = place
				found[#found + 1] = letter
			end
		end
		seen = seen + #page
	until #page < 100 or #found >= enough
end

if string.find(wanted, 'd', 1, true) then
	gather(KEYS[4])
end
if string.find(wanted, 'p', 1, true) then
	gather(KEYS[5])
end
table.sort(found, function(a, b) return a.place < b.place end)
local reply = {'DONE', 0, now, call}
for i = 1, math.min(#found, limit) do
	say(reply, found[i], 'head')
end
return reply
