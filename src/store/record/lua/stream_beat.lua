-- SPDX-License-Identifier: BSD-2-Clause
-- Keeps entries alive for a consumer, or gives them back.
-- KEYS: the stream
-- ARGV: 1 the group, 2 the consumer, 3 for how many ms they have been idle
--       then, 4, ... their ids
-- Answers: those that are another one's.  One whose bytes are gone is not
--          touched: Redis would drop it, and who has its bytes could put no
--          result any more.

-- include stream.lua
-- include stream_bytes.lua

local stream, err = find_stream()
if not stream then
	return err
end
local others, ours = {}, {}
for i = 4, #ARGV do
	local id = ARGV[i]
	local pending = redis.call('XPENDING', key, group, id, id, 1)[1]
	if pending and pending[2] ~= ARGV[2] then
		others[#others + 1] = id
	elseif pending and not is_gone(stream, id) then
		ours[#ours + 1] = id
	end
end
if #ours > 0 then
	ours[#ours + 1] = 'IDLE'
	ours[#ours + 1] = ARGV[3]
	ours[#ours + 1] = 'JUSTID'
	redis.call('XCLAIM', key, group, ARGV[2], 0, unpack(ours))
end
return others
