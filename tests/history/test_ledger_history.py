# SPDX-License-Identifier: BSD-2-Clause
"""A random history with a witness: an API that commits in PostgreSQL is killed
and frozen at every statement, and so are gateways, Redis and the database;
clients and messages send the same keys, and operators release what they like.
The database has each key's payment once, and what anybody was told is what
stands there.  See test_history.py for the environment; an hour of it:

ONCE_TIER=long ONCE_HISTORY_S=3600"""

from once import tap
from once.gateway import is_without
from once.paid import LEDGER
from once.postgres import programs

from happen import KEPT, faults_s, tests
from ledger_bank import LedgerPlan
from ledger_world import TABLES_OF_FAULTS, LedgerWorld

tests(lambda bench, seed: LedgerWorld(bench, LedgerPlan(
    seed, TABLES_OF_FAULTS)), faults_s(30), [
        ("the database has each payment once, and answers are what stands",
         LEDGER), *KEPT])

if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
