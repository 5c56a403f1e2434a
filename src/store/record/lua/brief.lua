-- SPDX-License-Identifier: BSD-2-Clause
-- What a reply says of a COMPLETED record; include layout.lua before it.

-- The status of a stored answer, as far as it can be read here: it is how a
-- plain one begins, and how a compressed one ends.
local FRAME = 'P*M\24\3\0\0\0'

local function status_of(value, line)
	local kind = string.sub(value, line + 1, line + 2)
	if kind == 'p\n' then
		return string.match(value, '^%d%d%d', line + 3)
	elseif kind == 'z ' and string.sub(value, -11, -4) == FRAME then
		return string.match(value, '^%d%d%d$', -3)
	end
end

-- A COMPLETED record as it stands in a reply: one that is large without its
-- answer, which is then fetched (show.lua) where it holds up nothing small; and
-- where brevity is asked for, its answer's status instead, where that can be
-- read.
local function brief(value, brevity)
	local line = string.find(value, '\n', ROUTE, true) or MARK
	local status = brevity and status_of(value, line)
	if status then
		return string.sub(value, 1, line), status
	elseif #value < LARGE then
		return value
	end
	return string.sub(value, 1, line)
end
