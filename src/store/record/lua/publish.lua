-- SPDX-License-Identifier: BSD-2-Clause
-- Tells all gateways at once that something has changed which they share, on
-- the channel of changes: "!KIND:NAME", a newline, and what.  pcall: the change
-- is made, even if our user may not PUBLISH; they also ask now and then.

local function announce(whose, what)
	redis.pcall('PUBLISH', string.match(KEYS[1], '^.-{%d+}:') .. 'changes',
	    whose .. '\n' .. what)
end
