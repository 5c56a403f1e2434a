-- SPDX-License-Identifier: BSD-2-Clause
-- By its label people find a COMPLETED record: each shard has an index for each
-- label of its records, by when they end.  Its name ends with what stands for
-- the label (src/store/record/label.h), and its other part is that of KEYS.

-- Of one label the newest are kept.
local LABELLED = 100

-- leases: the shard's, as in KEYS.  pcall: the record is stored, and nobody
-- waits for this.
local function index_label(label, leases, record, ends)
	if label == '' then
		return
	end
	local key = string.sub(leases, 1, -7) .. 'label:' .. label
	redis.pcall('ZADD', key, ends, string.sub(record, -32))
	local old = redis.pcall('ZRANGE', key, 0, -LABELLED - 1)
	if old[1] then
		redis.pcall('ZREM', key, unpack(old))
	end
	local left = redis.pcall('PTTL', key)
	if type(left) == 'number' and now + left < tonumber(ends) then
		redis.pcall('PEXPIRE', key, ends - now)
	end
end
