# SPDX-License-Identifier: BSD-2-Clause
"""A random history of a relay to each kind of target: two gateways that take
turns at it are killed, frozen and drained, the store is frozen and started
again, and the target is killed, frozen or does not take what it gets, while
clients pay.  Each event of the streams is there once (to a webhook, at least
once), in the order of each record.

ONCE_SEED, ONCE_SEEDS and ONCE_HISTORY_S as of the other histories."""


from once import tap, tier
from once.tap import each

from happen import SEEDS, faults_s
from relay_world import KINDS, RelayWorld

USUAL_S = 8
SECONDS = faults_s(USUAL_S * (5 if tier.LONG else 1))


@each([(f"a {kind}, {words}", seed, kind)
       for kind in KINDS for words, seed in SEEDS])
def each_event_is_brought_once(bench, seed, kind):
    tap.comment(f"ONCE_SEED={seed} repeats this plan")
    world = RelayWorld(bench, seed, kind)
    try:
        world.happen(SECONDS)
        world.settle()
        world.check()
    finally:
        world.say()


tap.main()
