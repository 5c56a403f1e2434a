#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- What a relay reads of the streams of events, and where it stands in them: for
-- relays whose target does not remember it, and to know what may be trimmed.
-- KEYS: of each shard its stream, and a hash in which a relay's name leads to
--       "TERM POSITION"; all of one slot
-- ARGV: 1 act (read, forget), then
--       of read 2 the relay, 3 the term of its leadership, 4 how many entries
--       at most, all streams together, 5 the shard that is read first, from 0;
--       then of each shard the entry behind which it is read ("": behind the
--       position that was saved), and the position that is to be saved, or ""
--       of forget the relays that there are: of others nothing is kept, and
--       one that stands nowhere yet has brought nothing, so that nothing is
--       trimmed before it has
-- Answers: DONE, of read with, for each shard, from the first one on: the
--       position that was saved before, or ""; how many entries its stream has
--       (-1: it is no stream, and Redis' words follow instead of the last
--       entry), how many it ever had, its last entry's id, how many entries
--       follow; and of each of those its id, the number of words in it, and
--       these (name, value, ...).  Shards behind the one that took the last
--       room are missing.  FENCED: a later term has saved its own position, and
--       nothing is read.

-- include clock.lua

local act, relay = ARGV[1], ARGV[2]
local shards = #KEYS / 2
local reply = {'DONE', 0, now, call}

local function add(word)
	reply[#reply + 1] = word
end

local function add_number(number)
	add(string.format('%.0f', number))
end

local function forget(key)
	local known = {}
	for i = 2, #ARGV - 1 do
		known[ARGV[i]] = true
	end
	for _, name in ipairs(redis.call('HKEYS', key)) do
		if not known[name] then
			redis.call('HDEL', key, name)
		end
	end
	for name in pairs(known) do
		if not redis.call('HGET', key, name) then
			redis.call('HSET', key, name, '0 0-0 -1')
		end
	end
end

if act ~= 'read' then
	for i = 1, shards do
		forget(KEYS[2 * i])
	end
	return reply
end

local term, room = tonumber(ARGV[3]), tonumber(ARGV[4])
local looks = room == 0
local saved = {}

for i = 1, shards do
	local by, position = string.match(
	    redis.call('HGET', KEYS[2 * i], relay) or '', '^(%d+) (.*)$')
	if (tonumber(by) or 0) > term then
		return {'FENCED', 0, now, call}
	end
	saved[i] = position or ''
end

local function members_of(info)
	local members = {}
	for i = 1, #info, 2 do
		members[info[i]] = info[i + 1]
	end
	return members
end

local function read(shard)
	local key, behind = KEYS[2 * shard - 1], ARGV[4 + 2 * shard]
	local info = redis.pcall('XINFO', 'STREAM', key)
	local is = members_of(info)
	local entries = {}
	if behind == '' then
		behind = string.match(saved[shard], '^(%d+%-%d+) ') or '0-0'
	end
	if info.err and not string.find(info.err, 'no such key', 1, true) then
		is = {length = -1, ['last-generated-id'] = info.err}
	elseif not info.err and room > 0 and
	    is['last-generated-id'] ~= behind then
		entries = redis.call('XRANGE', key, '(' .. behind, '+',
		    'COUNT', room)
		room = room - #entries
	end
	add(saved[shard])
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

for i = 1, shards do
	local position = ARGV[5 + 2 * i]
	if position ~= '' then
		redis.call('HSET', KEYS[2 * i], relay,
		    string.format('%.0f', term) .. ' ' .. position)
	end
end
for i = 0, shards - 1 do
	if room > 0 or looks then
		read((ARGV[5] + i) % shards + 1)
	end
end
return reply
