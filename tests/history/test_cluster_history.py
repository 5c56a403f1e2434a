# SPDX-License-Identifier: BSD-2-Clause
"""A random history on a Redis Cluster: its masters die and are replaced by
their replicas, its slots move, and nothing is doubled, lost or answered
wrongly.  See test_history.py.

A master dies at any moment, and takes with it what its replica has not got.
With store.wait_replicas, nobody was told anything of that."""

from once import tap
from once.rediscluster import slot_of
from once.wait import eventually

from happen import faults_s, tests
from plan import FAULTS, Plan
from world import World

CLUSTER = {"kill": 4, "move": 5, "flush": 2, "disconnect": 2, "fill": 2}
TABLES = {**FAULTS, "redis": CLUSTER,
          "network": {kind: weight for kind, weight in
                      FAULTS["network"].items() if "redis" not in kind}}


class ClusterWorld(World):
    BY_PATH = True
    STORE = {"timeout": "500ms", "wait_replicas": 1, "wait_timeout": "150ms"}

    def make_redis(self):
        return self.bench.own_cluster(
            options=("--cluster-require-full-coverage", "no"))

    def ways_to_redis(self):
        """Servers name each other's addresses, so there is no proxy
        between."""
        return []

    def redis_for(self, i):
        return self.redis

    def masters(self):
        return [n for n in self.redis.nodes
                if n.running() and n.role() == "master"]

    def master(self, fault):
        found = self.masters()
        return found[int(fault.story * len(found))]

    def redis_kill(self, fault):
        """It comes back later, as a replica of whichever server has its slots
        now."""
        master = self.master(fault)
        replica = self.redis.replica_of(master)
        master.kill()
        eventually(lambda: replica.role() == "master", "it is the master", 60)
        self.over.wait(fault.length)
        master.start()
        eventually(lambda: master.role() == "slave", "it follows", 60)
        self.redis.wait_well()

    def redis_move(self, fault):
        """Moves some of our slots, one after the other."""
        to = self.master(fault)
        for shard in range(fault.bytes % 7, 64, 7):
            slot = slot_of(f"{{{shard}}}")
            if self.redis.owner(slot) is not to:
                self.redis.move(slot, to)

    def redis_flush(self, fault):
        for node in self.masters():
            node("SCRIPT", "FLUSH")

    def redis_disconnect(self, fault):
        self.master(fault)(
            "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def heal(self):
        self.redis.wait_well()
        super().heal()


tests(lambda bench, seed: ClusterWorld(bench, Plan(seed, TABLES)),
      faults_s(15))
tap.main()
