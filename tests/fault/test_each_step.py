# SPDX-License-Identifier: BSD-2-Clause
"""Each step once, and what befalls the world there is drawn by the commit.
All that can befall it at each is in the other programs of this folder, which
the quick tier leaves out."""

from deliveries import (MACHINES, REACHED, BrokerFrozen, BrokerKilled,
                        MessageCell)
from faults import (ClientGone, ClockStopped, DiskFull, GatewayFrozen,
                    GatewayKilled, MemoryShort, RecordForgotten, RedisFrozen,
                    RedisKilled, RedisSlow, ReplyCut, SHORT, UpstreamBreaks)
from matrix import main, torture_once

torture_once({
    "client closes": ClientGone("close"),
    "disk full": DiskFull(),
    "frozen": GatewayFrozen(),
    "killed": GatewayKilled(),
    "memory short": MemoryShort(),
    "record forgotten": RecordForgotten(),
    "Redis frozen": RedisFrozen(),
    "Redis killed": RedisKilled(),
    "Redis slow": RedisSlow(),
    "reply cut": ReplyCut(0),
    "stopped past the lease": ClockStopped(lease=SHORT),
    "upstream closes": UpstreamBreaks("close"),
    "upstream truncates": UpstreamBreaks(40),
})
torture_once({
    "broker frozen": BrokerFrozen(),
    "broker killed": BrokerKilled(),
    "killed": GatewayKilled(),
    "store frozen": RedisFrozen(),
    "store killed": RedisKilled(),
    "upstream closes": UpstreamBreaks("close"),
}, machines=MACHINES, reached=REACHED, cell=MessageCell)
main()
