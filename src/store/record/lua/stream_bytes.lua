-- SPDX-License-Identifier: BSD-2-Clause
-- The bytes of entries; KEYS and ARGV as in stream.lua.

-- Whether those of one are gone, without having Lua copy them: only
-- what stands up to the highest that was ever deleted has to be read for that.
local function must_be_there(stream, id)
	local first = stream['first-entry']
	local most = stream['max-deleted-entry-id']
	return first and not below(id, first[1]) and most and below(most, id)
end

local function is_gone(stream, id)
	return not must_be_there(stream, id) and
	    #redis.call('XRANGE', key, id, id) == 0
end

-- How much of a reply it takes, which may have no more than 288 MiB and 512
-- thousand texts.  One that none can have comes without its fields.
local function weigh(entry)
	local bytes = 512 * #entry[2]
	for _, text in ipairs(entry[2]) do
		bytes = bytes + #text
	end
	if bytes > 134217728 then
		entry[2], bytes = {}, 0
	end
	return bytes
end
