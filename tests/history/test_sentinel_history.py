# SPDX-License-Identifier: BSD-2-Clause
"""A random history on a master that Sentinels watch over: masters die, freeze
and are replaced, Sentinels come and go, and nothing is doubled, lost or
answered wrongly.  See test_history.py.

A master that dies takes with it what its replicas have not got; as
store.wait_replicas demands both of them, nobody was told anything of that.
One that is frozen or replaced goes on as it was, so its replicas get
everything before."""

from once import tap
from once.sentinels import LONG
from once.wait import eventually

from happen import faults_s, tests
from plan import FAULTS, Plan
from world import World

SENTINEL = {"kill": 3, "part": 4, "switch": 4, "freeze": 2, "flush": 2,
            "disconnect": 2, "watcher": 3, "fill": 2}
TABLES = {**FAULTS, "redis": SENTINEL,
          "network": {kind: weight for kind, weight in
                      FAULTS["network"].items() if "redis" not in kind}}
NOWHERE = "127.0.0.1", 1
PAUSE_MS = 60000  # much longer than until the master is gone


class SentinelWorld(World):
    STORE = {"timeout": "500ms", "wait_replicas": 2, "wait_timeout": "150ms"}

    def make_redis(self):
        """Sentinels act only when asked to: one that decides by itself that a
        slow machine is dead would lose what was not copied."""
        return self.bench.sentinels(down_after_ms=600000)

    def ways_to_redis(self):
        """Sentinels name the servers' addresses, so there is no proxy
        between."""
        return []

    def redis_for(self, i):
        return self.redis

    def masters(self):
        return [self.settle()]

    # --- faults ------------------------------------------------------------

    def settle(self):
        """The one master that all name and follow, once there is one."""
        eventually(self.redis.master, "the Sentinels are of one mind", LONG)
        self.redis.wait_together()
        return eventually(self.redis.master, "and stay so", LONG)

    def lose_master(self, how):
        """Nothing is written any more, and all servers have what was."""
        old = self.settle()
        old("CLIENT", "PAUSE", PAUSE_MS, "WRITE")
        self.redis.wait_copied()
        how(old)
        self.redis.ask_failover()
        return old, self.redis.wait_moved(old)

    def demote(self, old, new):
        """Does what Sentinels would do, but cannot while writes are paused."""
        old("REPLICAOF", new.host, new.port)
        old("CLIENT", "UNPAUSE")
        self.settle()

    def redis_kill(self, fault):
        self.kill(self.settle(), fault)

    def redis_part(self, fault):
        """Its replicas get nothing any more, for a while; then it dies."""
        old = self.settle()
        for server in self.redis.servers:
            if server is not old:
                server("REPLICAOF", *NOWHERE)
        self.over.wait(0.3 + fault.length)
        self.kill(old, fault)

    def kill(self, old, fault):
        """It comes back later, and follows the new master."""
        old.kill()
        self.redis.ask_failover()
        self.redis.wait_moved(old)
        self.over.wait(fault.length)
        self.redis.start_again(old)
        self.settle()

    def redis_freeze(self, fault):
        """It comes back as it was, and learns that it is no master any
        more."""
        old, new = self.lose_master(lambda master: master.freeze())
        self.over.wait(fault.length)
        old.thaw()
        self.demote(old, new)

    def redis_switch(self, fault):
        """A failover by an operator, of a master that answers."""
        self.demote(*self.lose_master(lambda master: None))

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
        self.settle()("SCRIPT", "FLUSH")

    def redis_disconnect(self, fault):
        self.settle()("CLIENT", "KILL", "TYPE", "normal")

    # --- the end -----------------------------------------------------------

    def heal(self):
        self.settle()
        super().heal()


tests(lambda bench, seed: SentinelWorld(bench, Plan(seed, TABLES)),
      faults_s(15))
tap.main()
