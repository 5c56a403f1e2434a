# SPDX-License-Identifier: BSD-2-Clause
"""What happens to a master that Sentinels watch over.

A master that dies takes with it what its replicas have not got.  One that is
frozen or replaced goes on as it was, so its replicas get everything before."""

from once.sentinels import LONG
from once.wait import Late, eventually

NOWHERE = "127.0.0.1", 1
PAUSE_MS = 60000  # much longer than until the master is gone
APART_S = 0.3


class Failovers:
    """Of one set of servers (once.sentinels.Sentinels), in one thread.
    rest(seconds) waits.  Sentinels act only when asked to: one that decides by
    itself that a slow machine is dead would lose what was not copied."""

    def __init__(self, redis, rest):
        self.redis, self.rest = redis, rest
        self.current = redis.servers[0]  # the master; any thread may look

    def settle(self):
        """The one master that all name and follow, once there is one."""
        eventually(self.redis.master, "the Sentinels are of one mind", LONG)
        self.redis.wait_together()
        self.current = eventually(self.redis.master, "and stay so", LONG)
        return self.current

    def move(self, old):
        """Sentinels give a failover up after a while, and try it again only
        where they have begun it by themselves."""
        for last in (False, False, True):
            self.redis.ask_failover()
            try:
                self.current = self.redis.wait_moved(old, timeout=LONG / 2)
                return self.current
            except Late:
                if last:
                    raise

    def lose_master(self, how):
        """Nothing is written any more, and all servers have what was."""
        old = self.settle()
        old("CLIENT", "PAUSE", PAUSE_MS, "WRITE")
        self.redis.wait_copied()
        how(old)
        return old, self.move(old)

    def demote(self, old, new):
        """Does what Sentinels would do, but cannot while writes are paused."""
        old("REPLICAOF", new.host, new.port)
        old("CLIENT", "UNPAUSE")
        self.settle()

    def part(self, length, look=None):
        """Its replicas get nothing any more, for a while; then it dies."""
        old = self.settle()
        for server in self.redis.servers:
            if server is not old:
                server("REPLICAOF", *NOWHERE)
        self.rest(APART_S + length)
        self.kill(old, length, look)

    def kill(self, old, length, look=None):
        """It comes back later, and follows the new master; look(old, new) in
        between."""
        old.kill()
        new = self.move(old)
        if look is not None:
            look(old, new)
        self.rest(length)
        self.redis.start_again(old)
        self.settle()

    def freeze(self, length):
        """It comes back as it was, and learns that it is no master any
        more."""
        old, new = self.lose_master(lambda master: master.freeze())
        self.rest(length)
        old.thaw()
        self.demote(old, new)

    def switch(self):
        """A failover by an operator, of a master that answers."""
        self.demote(*self.lose_master(lambda master: None))
