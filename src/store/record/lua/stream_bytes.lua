-- SPDX-License-Identifier: BSD-2-Clause
-- Whether the bytes of an entry are gone, without having Lua copy them: only
-- what stands up to the highest that was ever deleted has to be read for that.
local function is_trimmed(stream, id)
	local first = stream['first-entry']
	return not first or below(id, first[1])
end

local function is_gone(stream, id)
	local most = stream['max-deleted-entry-id']
	return is_trimmed(stream, id) or not (most and below(most, id)) and
	    #redis.call('XRANGE', key, id, id) == 0
end
