# SPDX-License-Identifier: BSD-2-Clause
"""A random history of an outbox in PostgreSQL, with a standby or without: the
rows are written, locked and touched by others, four gateways read them, and
they, their store and the servers are under faults of every kind, while clients
send the same keys by HTTP.  Each message is executed once, and ends once.

See test_stream_history.py for the environment."""

from once import tap
from once.gateway import is_without
from once.postgres import programs

from judge import tests
from outbox_world import OutboxWorld

if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tests(OutboxWorld)
    tap.main()
