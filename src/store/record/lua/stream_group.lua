-- SPDX-License-Identifier: BSD-2-Clause
-- Makes the group where it is not there, and the stream.
-- KEYS: the stream
-- ARGV: 1 the group, 2 the id that it begins behind, 0-0 or $; of one that was
--       there, 3 the last that was delivered to it (else empty)
-- Answers: {0 it was there, 1 it was made, 2 and the stream; the last id that
--          was delivered to it}
--
-- One that was there begins anew only where the stream has nothing any more of
-- what it was given: what is finished would come again, and nobody knows what
-- of it was.

-- include stream.lua

local stream, err = find_stream()
if not stream and not string.find(err.err, 'NOGROUP', 1, true) then
	return err
elseif not stream then
	redis.call('XGROUP', 'CREATE', key, group, '0-0', 'MKSTREAM',
	    'ENTRIESREAD', 0)
	return {2, '0-0'}
end

local there = find_group()
if there then
	return {0, there['last-delivered-id']}
end
local first, start, delivered = stream['first-entry'], ARGV[2], ARGV[3]
if delivered ~= '' and first and not below(delivered, first[1]) then
	return redis.error_reply(string.format('GONE the group %s was ' ..
	    'removed: XGROUP CREATE %s %s %s goes on behind what it was ' ..
	    'given, 0 reads all again', group, key, group, delivered))
elseif delivered == '' and start == '$' then
	redis.call('XGROUP', 'CREATE', key, group, '$', 'ENTRIESREAD',
	    stream['entries-added'])
	return {1, stream['last-generated-id']}
end
redis.call('XGROUP', 'CREATE', key, group, '0-0', 'ENTRIESREAD',
    stream['entries-added'] - stream.length)
return {1, '0-0'}
