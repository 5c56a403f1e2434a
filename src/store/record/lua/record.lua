-- SPDX-License-Identifier: BSD-2-Clause
-- What scripts do with a record.

-- include layout.lua

-- Writes a COMPLETED record as it is, unless it is confirmed.  Where a reply
-- waits for replicas (WAIT), it waits for what its own connection wrote; a full
-- Redis does not refuse this.
local function touch(value)
	local left = redis.call('PTTL', KEYS[1])
	if string.sub(value, MARK, MARK) ~= '+' and left > 0 then
		redis.call('PEXPIRE', KEYS[1], left)
	end
end

local function record_of(state, reason, attempt, tries, created, changed,
    lease_until, owner, fingerprint, mark, provenance, notes, rest)
	return (notes == '' and 'o1' or 'o2') .. state .. reason .. attempt ..
	    tries .. created .. changed .. lease_until .. owner ..
	    fingerprint .. mark .. provenance .. '\n' ..
	    (notes == '' and '' or notes .. '\n') .. rest
end

-- include brief.lua
