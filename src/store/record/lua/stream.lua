-- SPDX-License-Identifier: BSD-2-Clause
-- Included by scripts of a reader of a stream (src/messages/broker/streams/),
-- which run in the broker's Redis.  KEYS[1] is the stream, ARGV[1] the group.

local key, group = KEYS[1], ARGV[1]

-- Ids are compared as text: Lua's numbers have 53 bits.
local function below(a, b)
	local function less(x, y)
		if #x ~= #y then
			return #x < #y
		end
		return x < y
	end
	local a_ms, a_seq = string.match(a, '^(%d+)-(%d+)$')
	local b_ms, b_seq = string.match(b, '^(%d+)-(%d+)$')
	if a_ms ~= b_ms then
		return less(a_ms, b_ms)
	end
	return less(a_seq, b_seq)
end

-- What XINFO answers, by name.
local function map(list)
	local m = {}
	for i = 1, #list, 2 do
		m[list[i]] = list[i + 1]
	end
	return m
end

local function find_group()
	for _, each in ipairs(redis.call('XINFO', 'GROUPS', key)) do
		each = map(each)
		if each.name == group then
			return each
		end
	end
end

-- nil and Redis' words, where it is no stream; of what does not exist NOGROUP.
local function find_stream()
	local stream = redis.pcall('XINFO', 'STREAM', key)
	if not stream.err then
		return map(stream)
	elseif string.find(stream.err, 'no such key', 1, true) then
		return nil, redis.error_reply('NOGROUP the stream is not there')
	end
	return nil, stream
end
