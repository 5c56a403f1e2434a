-- SPDX-License-Identifier: BSD-2-Clause
-- Makes pending entries those of a consumer.
-- KEYS: the stream
-- ARGV: 1 the group, 2 the consumer, 3 for how many ms they must have been
--       idle, 4, ... their ids
-- Answers: {entries, ids of those whose bytes are gone}; those stay pending as
--          they were: XCLAIM and XAUTOCLAIM drop them, and a reply that is lost
--          would be all that knew of it.

-- include stream.lua
-- include stream_bytes.lua

local stream, err = find_stream()
if not stream then
	return err
end
local gone, ids = {}, {}
for i = 4, #ARGV do
	local id = ARGV[i]
	local pending = redis.call(
	    'XPENDING', key, group, 'IDLE', ARGV[3], id, id, 1)
	if #pending > 0 then
		local to = is_gone(stream, id) and gone or ids
		to[#to + 1] = id
	end
end
if #ids == 0 then
	return {ids, gone}
end
return {redis.call('XCLAIM', key, group, ARGV[2], ARGV[3], unpack(ids)), gone}
