-- SPDX-License-Identifier: BSD-2-Clause
-- What each reply says besides its word and an attempt.

-- The call that it answers, by the name that the gateway gave it, which is each
-- script's last argument: so a reply that went astray is believed by nobody.
local call = ARGV[#ARGV]

-- Redis' clock, in milliseconds since 1970: the only clock that counts; and as
-- a record has it, in 13 digits.
local now = redis.call('TIME')
local stamp = now[1] .. string.sub('00000' .. now[2], -6, -4)
if #stamp < 13 then
	stamp = string.format('%013d', stamp)
end
now = tonumber(stamp)
