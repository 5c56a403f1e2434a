-- SPDX-License-Identifier: BSD-2-Clause
-- Puts something and acknowledges an entry, while that is pending.
-- KEYS: 1 the stream, 2 the stream that it is put into
-- ARGV: 1 the group, 2 the consumer, 3 the entry's id, 4 how many of the values
--       the entry's own take the place of, if it is still there (empty: of
--       none), 5, ... names and values
-- Answers: 1; or nothing was put: 0, it is not pending; 2, it is so for another
--          consumer.

local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1]
if not pending then
	return 0
elseif pending[2] ~= ARGV[2] then
	return 2
end

-- An XADD cannot be taken back.
if not redis.acl_check_cmd('xack', KEYS[1], ARGV[1], ARGV[3]) then
	return redis.error_reply(
	    "NOPERM this user has no permissions to run the 'xack' command")
end

-- Lua has no more than some 8,000 values in one command: how many fields are
-- left out for that is one more.
local kept, values, left = tonumber(ARGV[4]), {}, 0
local entry = kept and redis.call('XRANGE', KEYS[1], ARGV[3], ARGV[3])[1]
for i = 1, entry and #entry[2] or 0, 2 do
	local name = string.gsub(string.lower(entry[2][i]), '_', '-')
	if string.sub(name, 1, 10) == 'onceproxy-' then
		name = nil
	elseif #values < 7000 then
		values[#values + 1] = entry[2][i]
		values[#values + 1] = entry[2][i + 1]
	else
		left = left + 1
	end
end
if left > 0 then
	values[#values + 1] = 'onceproxy-left-out'
	values[#values + 1] = string.format('%d', left)
end
for i = 5 + (entry and kept or 0), #ARGV do
	values[#values + 1] = ARGV[i]
end
redis.call('XADD', KEYS[2], '*', unpack(values))
redis.call('XACK', KEYS[1], ARGV[1], ARGV[3])
return 1
