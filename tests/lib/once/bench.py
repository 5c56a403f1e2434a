# SPDX-License-Identifier: BSD-2-Clause
"""Everything that one test uses; all of it is ended and removed after it."""

import os
import signal
import threading

from .fault_proxy import FaultProxy
from .folder import drop_folder, make_folder
from .gateway import Gateway
from .kafka import Kafka
from .kafka_cut import CutKafka
from .kafka_guarded import GuardedKafka
from .kafka_mock import MockKafka
from .postgres import Postgres, PostgresPair
from .redis import Redis
from .rediscluster import RedisCluster
from .sentinels import Sentinels
from .upstream import Upstream
from .wait import Late
from .wire import Wire

LEAVE_S = 5  # what a gateway has for its own end

shared = {}  # what all tests of one program use: a Redis, a browser


def end_shared():
    while shared:
        shared.popitem()[1].stop()


def scripting():
    """ONCE_SCRIPTING makes tests run with another store.scripting."""
    name = os.environ.get("ONCE_SCRIPTING")
    return {"scripting": name} if name else {}


class Bench:
    def __init__(self):
        self.folders = []
        self.gateways = []
        self.upstreams = []
        self.proxies = []
        self.redises = []
        self.wires = []
        self.processes = []
        self.threads = []
        self._redis = None

    @property
    def redis(self):
        """The test program's Redis, empty when the test first uses it."""
        if self._redis is None:
            if "redis" not in shared:
                shared["redis"] = Redis()
            self._redis = shared["redis"]
            self._redis("FLUSHALL")
        return self._redis

    def own_redis(self, *options):
        """A Redis of the test's own, which it may kill."""
        redis = Redis(*options)
        self.redises.append(redis)
        return redis

    def postgres(self):
        """A PostgreSQL of the test's own."""
        self.redises.append(Postgres())
        return self.redises[-1]

    @property
    def postgres_for_all(self):
        """The test program's PostgreSQL, which no test may break; empty, and
        without users, when it is asked for."""
        if "postgres" not in shared:
            shared["postgres"] = Postgres()
        shared["postgres"].empty()
        return shared["postgres"]

    @property
    def kafka(self):
        """The test program's Kafka of one node, which no test may break; its
        topics are made under names of their own."""
        if "kafka" not in shared:
            shared["kafka"] = Kafka()
        return shared["kafka"]

    @property
    def guarded_kafka(self):
        """The same, which asks who somebody is, and what he may."""
        if "guarded kafka" not in shared:
            shared["guarded kafka"] = GuardedKafka()
        return shared["guarded kafka"]

    @property
    def cut_kafka(self):
        """The same, which can keep a reply back."""
        if "cut kafka" not in shared:
            shared["cut kafka"] = CutKafka()
        return shared["cut kafka"]

    def own_kafka(self, nodes=1, **settings):
        """A Kafka that this test may break."""
        self.redises.append(Kafka(nodes, **settings))
        return self.redises[-1]

    def mock_kafka(self, nodes=1):
        """One that is only pretended."""
        self.redises.append(MockKafka(nodes))
        return self.redises[-1]

    def postgres_pair(self):
        """A PostgreSQL and its standby."""
        self.redises.append(PostgresPair())
        return self.redises[-1]

    def sentinels(self, *args, **kwargs):
        """A master, its replicas, and the Sentinels that watch over them."""
        self.redises.append(Sentinels(*args, **kwargs))
        return self.redises[-1]

    def own_cluster(self, *args, **kwargs):
        """A Redis Cluster that this test may break."""
        cluster = RedisCluster(*args, **kwargs)
        self.redises.append(cluster)
        return cluster

    def cluster(self):
        """The test program's cluster of three masters, which no test may
        break."""
        if "cluster" not in shared:
            shared["cluster"] = RedisCluster(replicas=0)
        for node in shared["cluster"].nodes:
            node("FLUSHALL")
        return shared["cluster"]

    def wire(self, redis=None):
        """The test program's Redis (or that one), behind a proxy that this
        test may cut."""
        self.wires.append(Wire(redis or self.redis))
        return self.wires[-1]

    def folder(self):
        self.folders.append(make_folder())
        return self.folders[-1]

    def file(self, data, name="file"):
        path = os.path.join(self.folder(), name)
        with open(path, "wb") as out:
            out.write(data)
        return path

    def upstream(self, *args, **kwargs):
        self.upstreams.append(Upstream(*args, **kwargs))
        return self.upstreams[-1]

    def proxy(self, target, unix=None):
        """A proxy in front of target that can break connections."""
        self.proxies.append(FaultProxy(target, unix))
        return self.proxies[-1]

    def config(self, upstream, idempotency=None, options=None, redis=None,
               **members):
        """Payments on /v1/charges, anything else passed through.

        idempotency: of the payments' route; options: of the upstream;
        members: of the top level, "store" merged with where Redis is."""
        url = upstream if isinstance(upstream, str) else upstream.url
        if redis is None:
            redis = self.redis
        where = getattr(redis, "store", None) or {
            "redis": redis if isinstance(redis, str) else redis.url}
        config = {
            "listen": ["127.0.0.1:0"],
            "workers": 2,
            "state_dir": members.pop("state_dir", None) or self.folder(),
            # Longer than the default, for busy machines.
            "store": {**where, "timeout": "2s", **scripting(),
                      **members.pop("store", {})},
            "upstreams": {"api": {"targets": [url], **(options or {})}},
            "routes": [
                {"name": "charges", "methods": ["POST"],
                 "path": "/v1/charges", "upstream": "api",
                 "idempotency": idempotency or {}},
                {"name": "rest", "path": "/*", "upstream": "api"},
            ],
        }
        config.update(members)
        return config

    def serve(self, config, env=None, ready=True, program=None, **more):
        """A gateway with this whole configuration."""
        gateway = Gateway(config, self.folder(), env, ready=False,
                          run=program, **more)
        self.gateways.append(gateway)
        if ready:
            gateway.wait_ready()
        return gateway

    def gateway(self, upstream, idempotency=None, options=None, redis=None,
                env=None, **members):
        """A gateway in front of an upstream; see config()."""
        return self.serve(
            self.config(upstream, idempotency, options, redis, **members), env)

    def pair(self, reply=None, *args, **kwargs):
        """An upstream and a gateway in front of it."""
        upstream = self.upstream(reply)
        return upstream, self.gateway(upstream, *args, **kwargs)

    def process(self, process):
        """Takes charge of a process: close() ends it."""
        self.processes.append(process)
        return process

    def background(self, function, *args, **kwargs):
        """Runs a call in a thread; the result() of what is returned has its
        value, or raises what it raised."""
        task = Task(function, args, kwargs)
        self.threads.append(task)
        return task

    def clean(self):
        """Ends everything; then fails where a sanitizer saw something.
        Gateways may drain first, so that every test finds leaks."""
        for upstream in self.upstreams:
            upstream.stop()
        for gateway in self.gateways:
            gateway.signal(signal.SIGCONT)
            gateway.signal(signal.SIGTERM)
        for gateway in self.gateways:
            try:
                gateway.wait(LEAVE_S)
            except Late:
                gateway.kill()
        for proxy in self.proxies:
            proxy.stop()
        for process in self.processes:
            process.kill()
        for wire in self.wires:
            wire.stop()
        for redis in self.redises:
            redis.stop()
        for task in self.threads:
            task.thread.join(10)
        for folder in self.folders:
            drop_folder(folder)
        for gateway in self.gateways:
            gateway.check_sanitizer()


class Task:
    def __init__(self, function, args, kwargs):
        self.value = self.error = None

        def run():
            try:
                self.value = function(*args, **kwargs)
            except BaseException as error:  # handed to who asks for it
                self.error = error
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def result(self, timeout=30):
        self.thread.join(timeout)
        assert not self.thread.is_alive(), "the call did not come back"
        if self.error is not None:
            raise self.error
        return self.value
