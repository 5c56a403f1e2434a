-- SPDX-License-Identifier: BSD-2-Clause
-- Redis' clock, in milliseconds since 1970: the only clock that counts.
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
