-- SPDX-License-Identifier: BSD-2-Clause
-- Makes the group where it is not there, and the stream.
-- KEYS: the stream
-- ARGV: 1 the group, 2 the id that it begins behind, or $, 3 the same where
--       the stream is another one: fewer entries were ever added to it than 4
--       (empty: that is not known), 5 1 where it has vanished, 6, ... entries
--       in flight
-- Answers: {0 it was there, 1 it was made, 2 and the stream; 1 where that is
--          another one; the id up to which entries may have been delivered
--          before; where it has vanished, or was made, those in flight of which
--          the stream has nothing}

-- include stream.lua

local stream, err = find_stream()
if not stream and not string.find(err.err, 'NOGROUP', 1, true) then
	return err
elseif not stream then
	redis.call('XGROUP', 'CREATE', key, group, '0-0', 'MKSTREAM',
	    'ENTRIESREAD', 0)
	return {2, 1, '0-0', {unpack(ARGV, 6)}}
end

local function gone()
	local ids = {}
	for i = 6, #ARGV do
		if #redis.call('XRANGE', key, ARGV[i], ARGV[i]) == 0 then
			ids[#ids + 1] = ARGV[i]
		end
	end
	return ids
end

local last, added = stream['last-generated-id'], stream['entries-added']
local is_new = ARGV[4] ~= '' and added < tonumber(ARGV[4])
local there = find_group()
if there then
	-- Whoever sets a group takes its number of entries read away.
	return {0, is_new and 1 or 0,
	    there['entries-read'] and there['last-delivered-id'] or last,
	    ARGV[5] == '1' and gone() or {}}
end

local start = is_new and ARGV[3] or ARGV[2]
if start == '$' then
	redis.call('XGROUP', 'CREATE', key, group, '$', 'ENTRIESREAD', added)
	return {1, 0, last, gone()}
elseif below(last, start) then
	start = '0-0'
end
if start == '0-0' then
	redis.call('XGROUP', 'CREATE', key, group, start, 'ENTRIESREAD',
	    added - stream.length)
else
	redis.call('XGROUP', 'CREATE', key, group, start)
end
return {1, is_new and 1 or 0, last, gone()}
