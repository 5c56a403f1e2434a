-- SPDX-License-Identifier: BSD-2-Clause
-- The events of a record: an entry of a stream for each change of its state
-- (transitions.lua).
-- KEYS: where events are written, 4 the stream of all changes of state, 5 the
-- stream of changes to UNKNOWN and FAILED.  The script's last argument but one
-- is then the length to which both are trimmed (about).  Where there is 6, it
-- says where relays stand (relay.lua), and what one of them has not
-- brought is not trimmed from the first.

-- The states' names in events; a free key's is NONE.
local NAMES = {P = 'PROCESSING', C = 'COMPLETED', U = 'UNKNOWN', F = 'FAILED'}

-- Redis' error, where it took the step but not its event.
local untold

-- A stream is trimmed by whole nodes of so many entries.
local NODE = 100

-- How many events the slowest relay has not brought; those of a relay that does
-- not know yet are all.
local function not_brought()
	local added, least
	local info = redis.call('XINFO', 'STREAM', KEYS[4])
	for i = 1, #info, 2 do
		if info[i] == 'entries-added' then
			added = info[i + 1]
		end
	end
	for _, place in ipairs(redis.call('HVALS', KEYS[6])) do
		local count = tonumber(string.match(place, ' (%d+)$')) or 0
		least = math.min(count, least or count)
	end
	return added - (least or added)
end

-- Whether the stream is longer than it should be; it is trimmed to maxlen where
-- relays have all that is dropped then.
local function overflows()
	local maxlen = tonumber(ARGV[#ARGV - 1])
	if not KEYS[6] or redis.call('XLEN', KEYS[4]) < maxlen + NODE then
		return false
	elseif not_brought() > maxlen then
		return true
	end
	redis.call('XTRIM', KEYS[4], 'MAXLEN', '~', maxlen)
	return false
end

-- What an event says of a provenance besides the route.
local STANDS = '^[^\t]*\t[^\t]*\t[^\t]*\t([^\t]*)\t([^\t]*)\t([^\t]*)'

local function tell_one(r, from, to, attempt)
	from, to = NAMES[from] or 'NONE', NAMES[to] or 'NONE'
	if from == to then
		return
	end
	local line = r.told or (string.find(r.provenance, '^[^\t]') and
	    r.provenance or r.known)
	local instance, label, id = string.match(line, STANDS)
	local entry = {'XADD', KEYS[4], 'MAXLEN', '~', ARGV[#ARGV - 1], '*',
	    'id', string.sub(KEYS[1], -32),
	    'route', string.match(line, '^[^\t]*'),
	    'from', from, 'to', to, 'attempt', tonumber(attempt)}
	local function put(name, value)
		if value and value ~= '' then
			entry[#entry + 1] = name
			entry[#entry + 1] = value
		end
	end
	put('status', to == 'COMPLETED' and r.status ~= '0' and r.status)
	put('instance', instance)
	put('request_id', id)
	put('label', label)
	-- What is UNKNOWN again, after a question in vain, was told before.
	if to == 'FAILED' or (to == 'UNKNOWN' and not r.back) then
		entry[2] = KEYS[5]
		local done = redis.pcall(unpack(entry))
		untold = type(done) == 'table' and done.err and done or untold
		entry[2] = KEYS[4]
	end
	if KEYS[6] then
		-- Not trimmed here: MAXLEN, '~' and the length go.
		for _ = 1, 3 do
			table.remove(entry, 3)
		end
	end
	local done = redis.pcall(unpack(entry))
	untold = type(done) == 'table' and done.err and done or untold
	if KEYS[6] then
		pcall(overflows) -- the step is done, whatever comes of this
	end
end

-- Writes an event for each change of state that this step makes, right after
-- its first write: from there on a full Redis refuses nothing more, and
-- whatever else Redis may have against the event, the step goes on.  r.via is a
-- state that the record passed through on its way.
local function tell(r, state)
	if not KEYS[4] then
		return
	end
	local from = r.state
	if r.via then
		tell_one(r, from, r.via,
		    string.sub(r.value, ATTEMPT, ATTEMPT_END))
		from = r.via
	end
	tell_one(r, from, state, r.attempt)
end
