# SPDX-License-Identifier: BSD-2-Clause
"""At each step of a delivery of a row the gateway is killed, or frozen until
another one has done its work, or PostgreSQL is killed or frozen."""

from once.gateway import is_without
from once.postgres import programs

from faults import GatewayKilled
from matrix import main
from outbox_deliveries import (PostgresFrozen, PostgresKilled, ReaderFrozen,
                               torture_outbox)

if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    torture_outbox("gateway killed", GatewayKilled())
    torture_outbox("gateway frozen", ReaderFrozen())
    torture_outbox("PostgreSQL killed", PostgresKilled())
    torture_outbox("PostgreSQL frozen", PostgresFrozen())
    main()
