-- SPDX-License-Identifier: BSD-2-Clause
-- A shard's indexes, and how times are written; include clock.lua first.

-- Milliseconds as a record has them: 13 digits.
local function digits(ms)
	return string.format('%013d', math.min(ms, 9999999999999))
end

-- include anchor.lua

-- Where the anchor of an index stands that lives as long as any record
-- (longest ms).
local function index_anchor(longest)
	return digits(now - now % MINUTE + longest)
end

-- Puts off the end of an index whose anchor was moved; then up to 100 names are
-- dropped whose records must be gone by now.
local function index_keep(key, anchor, longest)
	if now + redis.call('PTTL', key) < anchor + MINUTE then
		redis.call('PEXPIRE', key, longest + MINUTE)
	end
	local gone = redis.call('ZRANGE', key, '-inf', now - longest - 1,
	    'BYSCORE', 'LIMIT', 0, 100)
	if #gone > 0 then
		redis.call('ZREM', key, unpack(gone))
	end
end

-- Adds the record to an index of its shard.
local function index(key, name, score, longest)
	local anchor = index_anchor(longest)
	redis.call('ZADD', key, score, string.sub(name, -32))
	if redis.call('ZADD', key, 'CH', anchor, ANCHOR) == 1 then
		index_keep(key, anchor, longest)
	end
end
