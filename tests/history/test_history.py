# SPDX-License-Identifier: BSD-2-Clause
"""A random history: two gateways, their Redis and their upstream under faults
of every kind, many clients, and an operator.  What the clients were told, and
what the upstream executed, must agree with the promise.

ONCE_SEED      the seed to begin with, else 1, or in the long tier a new one
ONCE_SEEDS     so many histories, each with a seed of its own (1)
ONCE_HISTORY_S seconds of faults in each (30)
ONCE_HISTORY_LOG  level of the gateways' logs (info)"""

import os

from once import history, tap
from once.tap import test

from happen import FIRST, faults_s, run, tests
from plan import Plan
from world import World

FAULTS_S = faults_s(30)

tests(lambda bench, seed: World(bench, Plan(seed)), FAULTS_S)


@test
def a_gateway_that_sends_again_is_seen(bench):
    """The same, with an invariant of the promise taken out."""
    program = os.environ.get("ONCEPROXY_TEST_BUILD")
    if not program or not os.access(program, os.X_OK):
        raise tap.Skip("there is no test build")
    world = World(bench, Plan(FIRST), program,
                  {"ONCE_INVARIANTS_OFF": "sent_is_unknown"})

    def seen():
        return any("after an execution" in words for words, _ in
                   history.check(world.history, history.EXECUTIONS))
    run(world, lambda: seen() or world.now() > FAULTS_S + 60)
    assert seen(), "it was not"


tap.main()
