# SPDX-License-Identifier: BSD-2-Clause
"""A random history on a master that Sentinels watch over: masters die, freeze
and are replaced, Sentinels come and go, and nothing is doubled, lost or
answered wrongly.  See test_history.py.

A master that dies takes with it what its replicas have not got (failovers.py);
as store.wait_replicas demands both of them, nobody was told anything of
that."""

from once import tap

from failovers import Failovers
from happen import faults_s, tests
from plan import FAULTS, Plan
from world import World

SENTINEL = {"kill": 3, "part": 4, "switch": 4, "freeze": 2, "flush": 2,
            "disconnect": 2, "watcher": 3, "fill": 2}
TABLES = {**FAULTS, "redis": SENTINEL,
          "network": {kind: weight for kind, weight in
                      FAULTS["network"].items() if "redis" not in kind}}


class SentinelWorld(World):
    STORE = {"timeout": "500ms", "wait_replicas": 2, "wait_timeout": "150ms"}

    def make_redis(self):
        redis = self.bench.sentinels(down_after_ms=600000)
        self.failovers = Failovers(redis, lambda s: self.over.wait(s))
        return redis

    def ways_to_redis(self):
        """Sentinels name the servers' addresses, so there is no proxy
        between."""
        return []

    def redis_for(self, i):
        return self.redis

    def masters(self):
        return [self.failovers.settle()]

    # --- faults ------------------------------------------------------------

    def redis_kill(self, fault):
        self.failovers.kill(self.failovers.settle(), fault.length)

    def redis_part(self, fault):
        self.failovers.part(fault.length)

    def redis_freeze(self, fault):
        self.failovers.freeze(fault.length)

    def redis_switch(self, fault):
        self.failovers.switch()

    def redis_watcher(self, fault):
        """A Sentinel is gone for a while, or stands still."""
        sentinels = self.redis.sentinels
        sentinel = sentinels[fault.bytes % len(sentinels)]
        if fault.how == "reset":
            sentinel.kill()
            self.over.wait(fault.length * 2)
            self.redis.start_again(sentinel)
        else:
            sentinel.freeze()
            self.over.wait(fault.length * 2)
            sentinel.thaw()

    def redis_flush(self, fault):
        self.failovers.settle()("SCRIPT", "FLUSH")

    def redis_disconnect(self, fault):
        self.failovers.settle()("CLIENT", "KILL", "TYPE", "normal")

    # --- the end -----------------------------------------------------------

    def heal(self):
        self.failovers.settle()
        super().heal()


tests(lambda bench, seed: SentinelWorld(bench, Plan(seed, TABLES)),
      faults_s(15))
tap.main()
