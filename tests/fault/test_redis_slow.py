# SPDX-License-Identifier: BSD-2-Clause
"""Redis is slow at each step, and not silent: its replies trickle."""

from faults import RedisSlow
from matrix import main, torture

torture("Redis slow", RedisSlow())
main()
