-- SPDX-License-Identifier: BSD-2-Clause
-- Makes pending entries those of a consumer.
-- KEYS: the stream
-- ARGV: 1 the group, 2 the consumer, 3 for how many ms they must have been
--       idle, 4 how many bytes are wanted, 5, ... their ids, in their order
-- Answers: {entries, ids of those whose bytes are gone, how many of the ids
--          these are of: no more where that is enough}.  Those whose bytes are
--          gone stay pending as they were: XCLAIM and XAUTOCLAIM drop them, and
--          a reply that is lost would be all that knew of it.

-- include stream.lua
-- include stream_bytes.lua

local stream, err = find_stream()
if not stream then
	return err
end
local entries, gone, bytes, done = {}, {}, 0, 0
-- Behind one that must be there all are.
local is_there = must_be_there(stream, ARGV[5])
for i = 5, #ARGV do
	local id = ARGV[i]
	if is_there or not is_gone(stream, id) then
		local entry = redis.call(
		    'XCLAIM', key, group, ARGV[2], ARGV[3], id)[1]
		if entry then
			bytes = bytes + weigh(entry)
			entries[#entries + 1] = entry
		end
	elseif #redis.call('XPENDING', key, group, 'IDLE', ARGV[3], id, id,
	    1) > 0 then
		gone[#gone + 1] = id
	end
	done = done + 1
	if bytes >= tonumber(ARGV[4]) then
		break
	end
end
return {entries, gone, done}
