-- SPDX-License-Identifier: BSD-2-Clause
-- Takes entries that nobody has taken, and sees what was lost before.
-- KEYS: the stream
-- ARGV: 1 the group, 2 the consumer, 3 at most so many (0: it only looks),
--       4 how many had been read as this reader knows (empty: it does not),
--       5 up to which id, 6 how many of those lost it is about to tell, 7 how
--       many bytes are wanted, 8 of an order the last id that it has taken,
--       else empty
-- Answers: {what goes first, 1 what is pending behind the last entry, or that
--          id, 2 what is pending for others, of an order; the entries, as many
--          of those read as are wanted; how many were
--          found to be lost, if nothing was read for that; how many are to be
--          told; how many are unread (-1: not known); how many were read
--          (empty: not known); the last id that was delivered}
--
-- Of the entries that were ever added, as many are passed as stand at or before
-- the last that was delivered, whether they are there or were removed.  Those
-- passed that no reader has read were lost: trimmed or deleted before, or left
-- out by who set the group ahead.  Redis' own number of entries read is not
-- used but as a place to keep ours: since Redis 8 it has what was trimmed, and
-- it is in no file of 7.0 and not with its replicas, unless it is set.  A loss
-- is told by one reader: who finds it asks again and says so, and that sets the
-- number.

-- include stream.lua
-- include stream_bytes.lua

local consumer, count, told = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[6])
local stream, err = find_stream()
if not stream then
	return err
end
local there = find_group()
if not there then
	return redis.error_reply('NOGROUP the group is not there')
end
local last, added = there['last-delivered-id'], stream['entries-added']

-- How many are there behind it; nil: too many to be counted.
local function behind(id)
	local from, n, bytes = '(' .. id, 0, 0
	repeat
		local page = redis.call('XRANGE', key, from, '+', 'COUNT', 10)
		for _, entry in ipairs(page) do
			n, from = n + 1, '(' .. entry[1]
			for _, text in ipairs(entry[2]) do
				bytes = bytes + #text
			end
		end
		if n > 1000 or bytes > 1048576 then
			return
		end
	until #page < 10
	return n
end

local kept = there['entries-read']
local first = stream['first-entry']
local passed
if not below(last, stream['last-generated-id']) then
	passed = added
elseif not first or below(last, first[1]) then
	passed = added - stream.length
elseif not kept or below(last, stream['max-deleted-entry-id'] or '0-0') then
	local left = behind(last)
	passed = left and added - left
end

-- A group that was set has no number; set back, ours is of no use either.
local read = kept
if not kept and ARGV[4] ~= '' and not below(last, ARGV[5]) then
	read = tonumber(ARGV[4])
end
local lost = read and passed and math.max(passed - read, 0) or 0
if not read or passed and lost <= told then
	read = passed
end

local pending = 0
if ARGV[8] ~= '' then
	for _, each in ipairs(redis.call('XPENDING', key, group)[4] or {}) do
		pending = each[1] ~= consumer and 2 or pending
	end
	if pending == 0 and
	    #redis.call('XPENDING', key, group, '(' .. ARGV[8], '+', 1) > 0 then
		pending = 1
	end
end
local entries = {}
if count > 0 and lost <= told and pending == 0 then
	local reply = redis.pcall('XREADGROUP', 'GROUP', group, consumer,
	    'COUNT', count, 'STREAMS', key, '>')
	if reply and reply.err then
		-- Redis does not say which command a script may not call.
		if redis.acl_check_cmd('xreadgroup', 'GROUP', group, consumer,
		    'STREAMS', key, '>') then
			return reply
		end
		return redis.error_reply("NOPERM this user has no " ..
		    "permissions to run the 'xreadgroup' command")
	end
	entries = reply and reply[1][2] or entries
end
local bytes, wanted = 0, {}
for i, entry in ipairs(entries) do
	if bytes >= tonumber(ARGV[7]) then
		pending = 1
		break
	end
	bytes, wanted[i] = bytes + weigh(entry), entry
end
if #entries > 0 then
	last = entries[#entries][1]
	read = read and read + #entries
end
if read and lost <= told and (read ~= kept or #entries > 0) then
	redis.call('XGROUP', 'SETID', key, group, last, 'ENTRIESREAD', read)
end

return {pending, wanted, lost > told and lost or 0,
    lost <= told and lost or 0, read and added - read or -1, read or '', last}
