# SPDX-License-Identifier: BSD-2-Clause
"""At each step of a delivery of a record of a topic the gateway is killed, or
frozen until another one has done its work."""

from once.gateway import is_without
from once.kafka import jars
from once.skip import Skip

from faults import GatewayKilled
from matrix import main
from topic_deliveries import ReaderFrozen, end_kafka, torture_topics


def why_not():
    """Why there can be no such cells; None: there can."""
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
    torture_topics("gateway killed", GatewayKilled())
    torture_topics("gateway frozen", ReaderFrozen())
    try:
        main()
    finally:
        end_kafka()
