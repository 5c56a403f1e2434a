#!lua flags=allow-oom
-- SPDX-License-Identifier: BSD-2-Clause
-- The events that a relay keeps until they were brought or are given up, each
-- with the body that it is brought with.
-- KEYS: the kept events; their bodies; for how many seconds the relay has run;
--       its leadership
-- ARGV: 1 act (list, put, try, drop)
--       of put and try 2 the token, 3 for how long the relay has run; and of
--       put, of each event its id, its record and its body; of try the ids of
--       events that are about to be tried; of drop the ids
-- Answers: DONE, of list with for how long the relay has run, and of each event
--       its id and "KEPT TRIES BYTES RECORD"; of try with "=" and the body of
--       each, or "-" (it is not kept); FENCED (put, try: another one leads).
--
-- Time is counted in seconds in which the relay ran, by nobody's clock.  KEPT
-- is when an event was put: it is put once, however often that is said.
-- Nothing here has an end; what counts the time goes with the last event.

-- include clock.lua

local act = ARGV[1]
local reply = {'DONE', 0, now, call}

if (act == 'put' or act == 'try') and ARGV[2] ~= string.match(
    redis.call('GET', KEYS[4]) or '', '^%d+ %d+ (%S+)$') then
	return {'FENCED', 0, now, call}
end

if act == 'list' then
	reply[5] = redis.call('GET', KEYS[3]) or '0'
	for _, word in ipairs(redis.call('HGETALL', KEYS[1])) do
		reply[#reply + 1] = word
	end
elseif act == 'put' then
	redis.call('SET', KEYS[3], ARGV[3])
	for i = 4, #ARGV - 3, 3 do
		local id, record, body = ARGV[i], ARGV[i + 1], ARGV[i + 2]
		if not redis.call('HGET', KEYS[1], id) then
			redis.call('HSET', KEYS[1], id, ARGV[3] .. ' 0 ' ..
			    #body .. ' ' .. record)
			redis.call('HSET', KEYS[2], id, body)
		end
	end
elseif act == 'try' then
	for i = 4, #ARGV - 1 do
		local event = redis.call('HGET', KEYS[1], ARGV[i])
		local body = event and redis.call('HGET', KEYS[2], ARGV[i])
		local kept, tries, rest = string.match(body and event or '',
		    '^(%d+) (%d+)( .*)$')
		if kept then
			redis.call('HSET', KEYS[1], ARGV[i], kept .. ' ' ..
			    string.format('%.0f', tries + 1) .. rest)
		end
		reply[#reply + 1] = body and '=' .. body or '-'
	end
	if redis.call('EXISTS', KEYS[1]) == 1 then
		redis.call('SET', KEYS[3], ARGV[3])
	end
elseif act == 'drop' then
	-- Lua gives a command no more than some 8,000 values.
	for i = 2, #ARGV - 1, 1000 do
		local last = math.min(i + 999, #ARGV - 1)
		redis.call('HDEL', KEYS[1], unpack(ARGV, i, last))
		redis.call('HDEL', KEYS[2], unpack(ARGV, i, last))
	end
	if redis.call('EXISTS', KEYS[1]) == 0 then
		redis.call('DEL', KEYS[3])
	end
end
return reply
