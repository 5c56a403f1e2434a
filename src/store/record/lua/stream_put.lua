-- SPDX-License-Identifier: BSD-2-Clause
-- Acknowledges an entry, and puts something while that is pending.
-- KEYS: 1 the stream, 2 the stream that something is put into, if it is
-- ARGV: 1 the group, 2 the consumer, 3 the entry's id, 4 how many of the values
--       the entry's own take the place of, if it is still there (empty: of
--       none), 5, ... names and values
-- Answers: 1; or nothing was put: 0, it is not pending, as somebody has
--       finished it, or it comes again from a group that was made anew; 2, it
--       is so for another consumer; 3, it is lost: its bytes are gone, or its
--       consumer is.

-- include stream.lua

local consumer, id = ARGV[2], ARGV[3]

local function is_lost()
	if #redis.call('XRANGE', key, id, id) == 0 then
		return true
	end
	local there = find_group()
	if not there or below(there['last-delivered-id'], id) then
		return false
	end
	for _, each in ipairs(redis.call('XINFO', 'CONSUMERS', key, group)) do
		if map(each).name == consumer then
			return false
		end
	end
	return true
end

local pending
if #KEYS == 1 then
	if redis.call('XACK', key, group, id) == 1 then
		return 1
	end
else
	pending = redis.call('XPENDING', key, group, id, id, 1)[1]
end
if not pending then
	return is_lost() and 3 or 0
elseif pending[2] ~= consumer then
	return 2
end

-- An XADD cannot be taken back.
if not redis.acl_check_cmd('xack', key, group, id) then
	return redis.error_reply(
	    "NOPERM this user has no permissions to run the 'xack' command")
end

-- Lua has no more than some 8,000 values in one command: how many fields are
-- left out for that is one more.
local kept, values, left = tonumber(ARGV[4]), {}, 0
local entry = kept and redis.call('XRANGE', key, id, id)[1]
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
redis.call('XACK', key, group, id)
return 1
