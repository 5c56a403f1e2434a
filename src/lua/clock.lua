-- SPDX-License-Identifier: BSD-2-Clause
-- What each reply says besides its word and an attempt.

-- The call that it answers, by the name that the gateway gave it, which is each
-- script's last argument: so a reply that went astray is believed by nobody.
local call = ARGV[#ARGV]

-- Redis' clock, in milliseconds since 1970: the only clock that counts.
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
