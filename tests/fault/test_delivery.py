# SPDX-License-Identifier: BSD-2-Clause
"""At each step of a delivery the gateway is killed, the store's Redis or the
broker's is killed or frozen, or the upstream closes."""

from deliveries import BrokerFrozen, BrokerKilled, torture_deliveries
from faults import GatewayKilled, RedisFrozen, RedisKilled, UpstreamBreaks
from matrix import main

torture_deliveries("killed", GatewayKilled())
torture_deliveries("store killed", RedisKilled())
torture_deliveries("store frozen", RedisFrozen())
torture_deliveries("broker killed", BrokerKilled())
torture_deliveries("broker frozen", BrokerFrozen())
torture_deliveries("upstream closes", UpstreamBreaks("close"))
main()
