# SPDX-License-Identifier: BSD-2-Clause
"""A master, its replicas, and the Sentinels that watch over them, each a
process with an address of its own below 127.0.0.0/8: so no free ports need be
found, and a server that is started again gets its own port back."""

import os
import random
import signal

from .folder import drop_folder, make_folder
from .process import Process
from .redis import RedisClient, RedisError
from .wait import PATIENCE, Late, eventually

MASTER = "payments"
PORT, SENTINEL_PORT = 6379, 26379
LONG = 5 * PATIENCE  # a failover on a busy machine
# Machines that stall, and tests that do not wait for periods.
DEBUG = ("INFO-PERIOD", 500, "PUBLISH-PERIOD", 300, "ASK-PERIOD", 300,
         "TILT-TRIGGER", 60000, "MIN-LINK-RECONNECT-PERIOD", 300)


class Server:
    """A redis-server on host; enter: words in front of the command that run it
    in a network of its own.  We talk to it on a Unix socket."""
    ready = "eady to accept connections"

    def __init__(self, host, port, text, password=None, enter=(),
                 tls=None):
        self.host, self.port = host, port
        self.password, self.enter = password, enter
        self.address = f"{host}:{port}"
        self.folder = make_folder()
        self.file = os.path.join(self.folder, "redis.conf")
        with open(self.file, "w", encoding="utf-8") as out:
            out.write(f"port 0\ntls-port {port}\n{tls}" if tls
                      else f"port {port}\n")
            out.write(f"bind {host}\nprotected-mode no\n"
                      f"unixsocket {self.folder}/redis\n"
                      f"dir {self.folder}\n{text}")
            if password:
                out.write(f"requirepass {password}\n")
        self.process = self.client = None
        self.frozen = False
        self.start()

    def argv(self):
        return [os.environ.get("REDIS_SERVER", "redis-server"), self.file]

    def start(self):
        self.process = Process([*self.enter, *self.argv()])
        self.process.wait_for_line(self.ready)

    def __call__(self, *words):
        """Runs a command; repeats it where Sentinels have closed the
        connection, as they do when they move the master."""
        def answer():
            try:
                if self.client is None:
                    self.client = self.connect()
                return [self.client(*words)]
            except (AssertionError, OSError):
                self.client = None
                if not self.answers():
                    raise Late("\n".join([f"{self.address} has ended",
                                          *self.process.lines[-60:]]))
                return None
        return eventually(answer, f"{self.address} answers", LONG)[0]

    def connect(self):
        client = RedisClient(os.path.join(self.folder, "redis"))
        if self.password:
            client("AUTH", self.password)
        return client

    def keys(self):
        return self("KEYS", "*")

    def info(self, name):
        lines = self("INFO").decode().split("\r\n")
        return next((line.split(":", 1)[1] for line in lines
                     if line.startswith(name + ":")), None)

    def answers(self):
        return self.process.running() and not self.frozen

    def freeze(self):
        self.frozen = True
        self.process.signal(signal.SIGSTOP)

    def thaw(self):
        self.process.signal(signal.SIGCONT)
        self.frozen = False

    def kill(self):
        if self.client is not None:
            self.client.close()
            self.client = None
        self.process.kill()

    def stop(self):
        self.kill()
        drop_folder(self.folder)


class Sentinel(Server):
    ready = "+monitor master"

    def argv(self):
        return [*super().argv(), "--sentinel"]

    def say(self, what, *words):
        return self("SENTINEL", what, MASTER, *words)

    def master(self):
        """(HOST, PORT), as it names the master; None where it does not."""
        said = self.say("GET-MASTER-ADDR-BY-NAME")
        return said and (said[0].decode(), int(said[1]))

    def state(self):
        said = [word.decode() for word in self.say("MASTER")]
        return dict(zip(said[::2], said[1::2]))


class Sentinels:
    """servers: the redis-servers, the first master first; sentinels: the
    Sentinels, which begin to fail over after down_after_ms.  password: of the
    servers; watch_password: of the Sentinels.  machines: (host, enter) of
    those that have a server and a Sentinel each.  tls: lines of redis.conf; all
    speak TLS and nothing else."""

    def __init__(self, replicas=2, sentinels=3, quorum=2, down_after_ms=2000,
                 password=None, watch_password=None, machines=(), tls=None):
        self.tls = tls
        self.password, self.watch_password = password, watch_password
        self.net = "127.%d.%d" % (
            random.randrange(16, 240), random.randrange(256))
        self.down_after_ms, self.quorum = down_after_ms, quorum
        self.servers, self.sentinels, self.strangers = [], [], []
        try:
            for number in range(replicas + 1):
                self.servers.append(self.server(*(
                    machines[number] if machines
                    else (f"{self.net}.{number + 1}",))))
            for number in range(sentinels):
                self.sentinels.append(self.sentinel(*(
                    machines[number] if machines
                    else (f"{self.net}.{number + 101}",))))
            self.wait_together()
        except BaseException:
            self.stop()
            raise

    def server(self, host, enter=()):
        text = (f'save ""\nappendonly yes\nappendfsync always\n'
                f"repl-diskless-sync-delay 0\nrepl-ping-replica-period 1\n"
                f"bind-source-addr {host}\nreplica-announce-ip {host}\n")
        if self.servers:
            text += f"replicaof {self.servers[0].host} {PORT}\n"
        if self.password:
            text += f"masterauth {self.password}\n"
        return Server(host, PORT, text, self.password, enter, self.tls)

    def sentinel(self, host, enter=(), master=None):
        """One more Sentinel, which has not met the others; master: another
        server than the first."""
        master = master or self.servers[0]
        text = (f"sentinel announce-ip {host}\nbind-source-addr {host}\n"
                f"sentinel monitor {MASTER} {master.host} {PORT} "
                f"{self.quorum}\n"
                f"sentinel down-after-milliseconds {MASTER} "
                f"{self.down_after_ms}\n"
                f"sentinel failover-timeout {MASTER} 10000\n"
                f"sentinel parallel-syncs {MASTER} 5\n")
        if self.password:
            text += f"sentinel auth-pass {MASTER} {self.password}\n"
        made = Sentinel(
            host, SENTINEL_PORT, text, self.watch_password, enter, self.tls)
        made("SENTINEL", "DEBUG", *DEBUG)
        return made

    def stranger(self, number, master):
        """A Sentinel apart from the others, with another master."""
        self.strangers.append(self.sentinel(
            f"{self.net}.{200 + number}", master=master))
        return self.strangers[-1]

    @property
    def store(self):
        """The members of the configuration's store."""
        return {"sentinels": [s.address for s in self.sentinels],
                "master": MASTER,
                **({"password": self.password} if self.password else {})}

    def start_again(self, server):
        server.start()
        if server in self.sentinels:
            server("SENTINEL", "DEBUG", *DEBUG)

    def wait_together(self):
        """Waits until all replicas follow, and every Sentinel knows all
        others."""
        replicas = len(self.servers) - 1
        eventually(
            lambda: sum(s.info("master_link_status") == "up"
                        for s in self.servers) == replicas,
            "all replicas follow", LONG)
        for sentinel in self.sentinels:
            eventually(lambda s=sentinel: self.knows_all(s),
                       f"{sentinel.address} knows all others", LONG)

    def knows_all(self, sentinel):
        state = sentinel.state()
        return (int(state["num-slaves"]) == len(self.servers) - 1 and
                int(state["num-other-sentinels"]) == len(self.sentinels) - 1
                and state["flags"] == "master")

    def master(self, sentinels=None):
        """The server that all these Sentinels name, if it is a master; or
        None."""
        named = {s.master() for s in sentinels or self.sentinels
                 if s.answers()}
        if len(named) != 1:
            return None
        host = named.pop()[0]
        server = next(s for s in self.servers if s.host == host)
        is_one = server.answers() and server.info("role") == "master"
        return server if is_one else None

    def wait_moved(self, old, sentinels=None, timeout=LONG):
        """The new master, once all of these Sentinels name it."""
        def moved():
            master = self.master(sentinels)
            return None if master is old else master
        return eventually(moved, "another master", timeout)

    def ask_failover(self):
        """A failover by a Sentinel; the master need not be down."""
        sentinel = next(s for s in self.sentinels if s.answers())

        def asked():
            try:
                return sentinel.say("FAILOVER")
            except RedisError as error:  # NOGOODSLAVE: not yet
                return error.args[0].startswith("INPROG")
        eventually(asked, "a failover begins", LONG)

    def switch(self):
        """A failover that an operator asks for; the new master."""
        old = self.master()
        self.ask_failover()
        return self.wait_moved(old)

    def wait_copied(self):
        """Waits until all replicas have what the master has."""
        master = self.master()
        replicas = sum(s.answers() for s in self.servers) - 1
        # WAIT asks for what its own connection wrote.
        eventually(lambda: master.info("role") == "master" and all(
            int(s.info("slave_repl_offset") or 0) >=
            int(master.info("master_repl_offset"))
            for s in self.servers if s is not master and s.answers()),
            f"{replicas} replicas have all", LONG)

    def stop(self):
        for server in (*self.strangers, *self.sentinels, *self.servers):
            server.stop()
