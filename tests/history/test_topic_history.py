# SPDX-License-Identifier: BSD-2-Clause
"""A random history of topics: four gateways of one group read a Kafka, of three
nodes in the long tier, others join the group and leave it or set it back, and
all of them and the store are under faults of every kind, while clients send the
same keys by HTTP.  Each message is executed once, and ends once for who reads
only what is committed.

See test_stream_history.py for the environment."""

from once import tap
from once.gateway import is_without
from once.kafka import jars
from once.skip import Skip

from judge import tests
from topic_world import TopicWorld


def why_not():
    """Why there can be no such history; None: there can."""
    if is_without("kafka"):
        return "built without Kafka"
    try:
        jars()
    except Skip as why:
        return str(why)
    return None


if why_not():
    print(f"1..0 # SKIP {why_not()}")
else:
    tests(TopicWorld)
    tap.main()
