# SPDX-License-Identifier: BSD-2-Clause
"""A random history of messages whose store and whose stream each have a
replica and Sentinels: masters die, freeze and are replaced.  See
test_stream_history.py."""

from once import tap

from judge import tests
from sentinel_world import SentinelWorld

tests(SentinelWorld)
tap.main()
