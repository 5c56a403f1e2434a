# SPDX-License-Identifier: BSD-2-Clause
"""What an adapter is: how something in front of a payment API is started."""


class Base:
    words = "how it was set up"
    lease_s = 2  # after which a key may be given to somebody else
    patience_s = 5  # for which it waits for the API
    shares = True  # two of them know the same keys
    redis = True  # where it keeps them
    path = "/charges"  # where it is asked …
    key_header = "Idempotency-Key"  # … with a key in this
    packages = {}  # of a registry: the version of each name

    def install(self, folder):
        """Brings what it needs into that folder, once."""

    def version(self):
        return ", ".join(f"{n} {v}" for n, v in self.packages.items())

    def command(self, folder, port, redis, upstream):
        """(argv, environment) of a process that listens on a port of
        127.0.0.1, and whose files go to a folder; redis and upstream are
        ports there, and FOLDER/redis is a socket of the same Redis."""
        raise NotImplementedError

    def says_unknown(self, status, fields, body):
        """Does this answer say that nobody knows what became of it?"""
        return False

    def environment(self, redis, upstream):
        """What a server of servers/ is told."""
        return {"REDIS": f"redis://127.0.0.1:{redis}",
                "UPSTREAM": f"http://127.0.0.1:{upstream}",
                "PATIENCE_S": str(self.patience_s),
                "LEASE_S": str(self.lease_s)}
