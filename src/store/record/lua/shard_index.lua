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

-- Puts off the end of an index whose anchor was moved; then of up to 100 names
-- those are dropped whose records are gone by now, as they should be.  Another
-- gateway, or this one before a restart, may let its own live longer.
local function index_keep(key, anchor, longest)
	if now + redis.call('PTTL', key) < anchor + MINUTE then
		redis.call('PEXPIRE', key, longest + MINUTE)
	end
	local records = string.match(key, '^.-{%d+}:') .. 'r:'
	for _, name in ipairs(redis.call('ZRANGE', key, '-inf',
	    now - longest - 1, 'BYSCORE', 'LIMIT', 0, 100)) do
		if redis.pcall('EXISTS', records .. name) == 0 then
			redis.call('ZREM', key, name)
		end
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
