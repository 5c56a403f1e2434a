-- SPDX-License-Identifier: BSD-2-Clause
-- A shard's indexes, and how times are written; include clock.lua first, which
-- sets "now".

-- Milliseconds as a record has them: 13 digits.
local function digits(ms)
	return string.format('%013d', math.min(ms, 9999999999999))
end
local stamp = digits(now)

-- Adds the record to an index of its shard.  The index lives at least as long
-- as any record (longest ms); each time its end is put off, up to 100 names are
-- dropped whose records must be gone by now.
local function index(key, name, score, longest)
	redis.call('ZADD', key, score, string.sub(name, -32))
	longest = tonumber(longest)
	if redis.call('PTTL', key) >= longest then
		return
	end
	redis.call('PEXPIRE', key, longest + 60000)
	local gone = redis.call('ZRANGE', key, '-inf', now - longest - 1,
	    'BYSCORE', 'LIMIT', 0, 100)
	if #gone > 0 then
		redis.call('ZREM', key, unpack(gone))
	end
end
