# SPDX-License-Identifier: BSD-2-Clause
"""Redis is killed, or frozen, at each step."""

from faults import RedisFrozen, RedisKilled
from matrix import main, torture

torture("Redis killed", RedisKilled())
torture("Redis frozen", RedisFrozen())
main()
