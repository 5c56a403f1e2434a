#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- What is kept of each part of a source that its broker counts from a first
-- message on: below its floor all is finished, whatever the broker says.
-- KEYS: the floors
-- ARGV: 1 act (look, keep, lower), then of look the parts; of keep of each part
--       its name, its floor, and 1 where that may be less than what is kept; of
--       lower how many ms it holds, and the parts (none: all that are kept)
-- Answers: DONE, of look with each part's floor (empty: nothing is kept) and 1
--       where it was lowered, of lower with the names of the parts; GONE (of
--       lower: of a part nothing is kept; nothing was changed).
--
-- A floor begins with a number, which only grows.  One that was lowered has
-- "!UNTIL " before it: until then its group may stand lower.  That is over when
-- it did, and the floor is kept anew.  Nothing here has an end.  A name with a
-- blank is of something beside a part, which has no group and is never lowered.

-- include clock.lua

local act = ARGV[1]

-- The floor, and until when it is lowered, if it is.
local function read(part)
	local value = redis.call('HGET', KEYS[1], part) or ''
	local till, floor = string.match(value, '^!(%d+) (.*)$')
	if till and tonumber(till) > now then
		return floor, till
	end
	return floor or value
end

local function number(floor)
	return string.match(floor, '^0*(%d+)') or ''
end

local function is_less(one, other)
	one, other = number(one), number(other)
	return #one < #other or (#one == #other and one < other)
end

local function write(part, floor, till)
	redis.call('HSET', KEYS[1], part,
	    (till and '!' .. till .. ' ' or '') .. floor)
end

local reply = {'DONE', 0, now, call}
if act == 'look' then
	for i = 2, #ARGV - 1 do
		local floor, till = read(ARGV[i])
		reply[#reply + 1] = floor
		reply[#reply + 1] = till and '1' or '0'
	end
elseif act == 'keep' then
	for i = 2, #ARGV - 3, 3 do
		local part, floor = ARGV[i], ARGV[i + 1]
		local kept, till = read(part)
		if ARGV[i + 2] == '1' then
			write(part, floor)
		elseif is_less(kept, floor) then
			write(part, floor, till)
		end
	end
else
	local parts, till = {}, string.format('%.0f', now + tonumber(ARGV[2]))
	for i = 3, #ARGV - 1 do
		parts[#parts + 1] = ARGV[i]
	end
	if #parts == 0 then
		for _, part in ipairs(redis.call('HKEYS', KEYS[1])) do
			if not string.find(part, ' ', 1, true) then
				parts[#parts + 1] = part
			end
		end
	end
	local floors = {}
	for i, part in ipairs(parts) do
		floors[i] = read(part)
		if floors[i] == '' or string.find(part, ' ', 1, true) then
			return {'GONE', 0, now, call}
		end
	end
	for i, part in ipairs(parts) do
		write(part, floors[i], till)
		reply[#reply + 1] = part
	end
	if #parts == 0 then
		return {'GONE', 0, now, call}
	end
end
return reply
