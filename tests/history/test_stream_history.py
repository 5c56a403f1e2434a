# SPDX-License-Identifier: BSD-2-Clause
"""A random history of messages: four gateways read a stream, two of them under
one name, and they, their store and their broker are under faults of every
kind, while clients send the same keys by HTTP.  Each message is executed once,
and ends once.

ONCE_SEED      the seed to begin with, else 1, or in the long tier a new one
ONCE_SEEDS     so many histories of each kind, each with a seed of its own (1)
ONCE_HISTORY_S seconds of faults in each (8; in the long tier 40)"""

from once import tap

from judge import tests
from stream_world import StreamWorld

tests(StreamWorld)
tap.main()
