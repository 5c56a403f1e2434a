#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- The events that a relay keeps (keep.lua).
-- KEYS: the kept events; their bodies
-- ARGV: 1 act (drop, read, list), then of drop the ids, of read the id, of list
--       where to go on (0: at the beginning) and about how many at a time
-- Answers: DONE, of read with the body, of list with where to go on (0: that is
--       all) and of each event its id and "SINCE BYTES RECORD"; GONE (read: it
--       is not kept).

-- include clock.lua

local act = ARGV[1]
local reply = {'DONE', 0, now, call}
if act == 'drop' then
	for i = 2, #ARGV - 1 do
		redis.call('HDEL', KEYS[1], ARGV[i])
		redis.call('HDEL', KEYS[2], ARGV[i])
	end
elseif act == 'read' then
	local body = redis.call('HGET', KEYS[2], ARGV[2])
	if not body then
		return {'GONE', 0, now, call}
	end
	reply[#reply + 1] = body
else
	local page = redis.call('HSCAN', KEYS[1], ARGV[2], 'COUNT', ARGV[3])
	reply[#reply + 1] = page[1]
	for _, word in ipairs(page[2]) do
		reply[#reply + 1] = word
	end
end
return reply
