#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- What is kept of each part of a source that its broker counts from a first
-- message on: below its floor all is finished, whatever the broker says.
-- KEYS: the floors
-- ARGV: 1 act (look, keep, stand, resume, rewind), then of look the parts; of
--       keep of each part its name, its floor, and 1 where that may be less
--       than what is kept, and uses up what was decided; of stand the parts
--       that an operator is to decide of; of resume and rewind the parts that
--       one has decided of (none: all that stand)
-- Answers: DONE, of look with each part's floor (empty: nothing is kept) and
--       what was decided of it ("resume", "rewind", or empty), of resume and
--       rewind with the names of the parts; GONE (of resume: one of them does
--       not stand; of rewind: nor is anything kept of it; or there are none;
--       nothing was changed).
--
-- A floor begins with a number, which only grows.  Beside it, under the part's
-- name and a word, is kept that it stands and what was decided.  Nothing here
-- has an end.

-- include clock.lua

local act = ARGV[1]

local function is_less(one, other)
	one = string.match(one, '^0*(%d+)') or ''
	other = string.match(other, '^0*(%d+)') or ''
	return #one < #other or (#one == #other and one < other)
end

local function keep(part, floor, anew)
	local kept = redis.call('HMGET', KEYS[1], part, part .. ' unproven',
	    part .. ' decided')
	if kept[2] then
		redis.call('HDEL', KEYS[1], part .. ' unproven')
	end
	if anew and kept[3] then
		redis.call('HDEL', KEYS[1], part .. ' decided')
	end
	if anew or not is_less(floor, kept[1] or '') then
		redis.call('HSET', KEYS[1], part, floor)
	end
end

local function may_decide(part)
	return redis.call('HGET', KEYS[1], part .. ' unproven') or
	    (act == 'rewind' and redis.call('HGET', KEYS[1], part))
end

local reply, parts = {'DONE', 0, now, call}, {}
for i = 2, #ARGV - 1 do
	parts[#parts + 1] = ARGV[i]
end
if act == 'look' then
	for _, part in ipairs(parts) do
		local kept = redis.call('HMGET', KEYS[1], part,
		    part .. ' decided')
		reply[#reply + 1] = kept[1] or ''
		reply[#reply + 1] = kept[2] or ''
	end
elseif act == 'keep' then
	for i = 1, #parts, 3 do
		keep(parts[i], parts[i + 1], parts[i + 2] == '1')
	end
elseif act == 'stand' then
	for _, part in ipairs(parts) do
		redis.call('HSET', KEYS[1], part .. ' unproven', '1')
	end
else
	if #parts == 0 then
		for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
			parts[#parts + 1] =
			    string.match(name, '^(.*) unproven$')
		end
	end
	for _, part in ipairs(parts) do
		if string.find(part, ' ', 1, true) or not may_decide(part) then
			return {'GONE', 0, now, call}
		end
	end
	if #parts == 0 then
		return {'GONE', 0, now, call}
	end
	for _, part in ipairs(parts) do
		redis.call('HSET', KEYS[1], part .. ' decided', act)
		reply[#reply + 1] = part
	end
end
return reply
