# SPDX-License-Identifier: BSD-2-Clause
"""At each step of a question the API's database, which has the witness, is
killed or frozen, its standby takes its place, or the PgBouncer before it is
killed."""

from once.gateway import is_without
from once.pooler import POOLER
from once.postgres import programs

from faults import DatabaseFrozen, DatabaseKilled, DatabaseMoved, PoolerKilled
from matrix import main, skip, torture
from scenarios import WITNESSED

if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    torture("database killed", DatabaseKilled(), reached=WITNESSED)
    torture("database frozen", DatabaseFrozen(), reached=WITNESSED)
    torture("its standby takes over", DatabaseMoved(), reached=WITNESSED)
    if POOLER is None:
        skip("pooler killed", "there is no PgBouncer")
    else:
        torture("pooler killed", PoolerKilled(), reached=WITNESSED)
    main()
