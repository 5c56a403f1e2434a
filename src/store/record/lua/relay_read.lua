#!lua flags=no-writes
-- SPDX-License-Identifier: BSD-2-Clause
-- What a relay reads of the streams of events.
-- KEYS: streams, all of one slot
-- ARGV: 1 how many entries at most, all streams together; then of each stream
--       the entry behind which it is read
-- Answers: DONE, and for each stream: how many entries it has (-1: it is no
--       stream, and Redis' words follow instead of the last entry), how many it
--       ever had, its last entry's id, how many entries follow; and of each of
--       those its id, the number of words in it, and these (name, value, ...).
--       Streams behind the one that took the last room are missing.

-- include clock.lua

local room = tonumber(ARGV[1])
local looks = room == 0
local reply = {'DONE', 0, now, call}

local function add(word)
	reply[#reply + 1] = word
end

local function add_number(number)
	add(string.format('%.0f', number))
end

local function members_of(info)
	local members = {}
	for i = 1, #info, 2 do
		members[info[i]] = info[i + 1]
	end
	return members
end

for i, key in ipairs(KEYS) do
	if room == 0 and not looks then
		break
	end
	local info = redis.pcall('XINFO', 'STREAM', key)
	local is = members_of(info)
	local entries = {}
	if info.err and not string.find(info.err, 'no such key', 1, true) then
		is = {length = -1, ['last-generated-id'] = info.err}
	elseif not info.err and room > 0 and
	    is['last-generated-id'] ~= ARGV[1 + i] then
		entries = redis.call('XRANGE', key, '(' .. ARGV[1 + i], '+',
		    'COUNT', room)
		room = room - #entries
	end
	add_number(is.length or 0)
	add_number(is['entries-added'] or 0)
	add(is['last-generated-id'] or '0-0')
	add_number(#entries)
	for _, entry in ipairs(entries) do
		add(entry[1])
		add_number(#entry[2])
		for _, word in ipairs(entry[2]) do
			add(word)
		end
	end
end
return reply
