# SPDX-License-Identifier: BSD-2-Clause
"""Messages of a stream on a Redis Cluster that has the records too: slots move
and masters die, and each is executed once, in its order, with one result."""

import json

from once import tap
from once.messages import Stream, source
from once.rediscluster import slot_of
from once.relays import named
from once.tap import each, equal, test
from once.wait import eventually

NAME, DONE = "{charges}", "{charges}:done"
STREAM_SLOT, RECORDS_SLOT = slot_of(NAME), slot_of("{0}")
ACCOUNTS, FEW = 3, 12
LONG_S = 90
# So the death of one master does not touch the slots of the others.
PARTLY = ("--cluster-require-full-coverage", "no")


class Keyed:
    """A cluster, as Stream speaks to a Redis: the command comes first."""

    def __init__(self, cluster):
        self.cluster, self.store = cluster, cluster.store

    def __call__(self, *words):
        key = words[2 if words[0] == "XINFO" else 1]
        return self.cluster.owner(slot_of(key))(*words)


class World:
    """An ordered stream with results, and two gateways that read it."""

    def __init__(self, bench, cluster):
        self.cluster, self.upstream = cluster, bench.upstream()
        self.stream, self.positions = Stream(Keyed(cluster), NAME), []
        config = bench.config(self.upstream, redis=cluster,
                              store={"shards": 1})
        source(config, self.stream, order_by=["/account"],
               results={"stream": DONE})
        self.gateways = [bench.serve(named(
            {**config, "state_dir": bench.folder()}, name))
            for name in ("one", "other")]

    def add(self, count=FEW):
        for _ in range(count):
            n = len(self.positions)
            self.positions.append(self.stream.add(
                body=json.dumps({"account": n % ACCOUNTS, "n": n}),
                idempotency_key=f"k{n}"))

    def find_log(self, event):
        return [line for gateway in self.gateways
                for line in gateway.find_log(event)]

    def wait_all(self):
        """All are executed once, and none is pending."""
        eventually(lambda: self.upstream.count() >= len(self.positions),
                   "all are executed", LONG_S)
        eventually(lambda: self.stream.pending() == [],
                   "all are acknowledged", LONG_S)
        sent = [json.loads(r.body)["n"] for r in self.upstream.requests]
        equal(sorted(sent), list(range(len(self.positions))))
        results = self.stream.entries(DONE)
        equal(sorted(r["onceproxy-position"] for r in results),
              sorted(self.positions))
        equal({r["body"] for r in results}, {b'{"id":"ch_1"}'})
        equal(self.find_log("source_lost"), [])
        return sent

    def wait_all_in_order(self):
        sent = self.wait_all()
        for account in range(ACCOUNTS):
            mine = [n for n in sent if n % ACCOUNTS == account]
            equal(mine, sorted(mine))


def is_split(*nodes):
    """Whether one of them was asked for keys that are not together."""
    return any(b"errorstat_TRYAGAIN" in node("INFO", "errorstats")
               for node in nodes)


@test
def slots_of_a_stream_and_of_its_records_move_in_the_middle(bench):
    cluster = bench.cluster()
    world = World(bench, cluster)
    world.add()
    world.wait_all_in_order()
    for slot, is_noticed in (
            (STREAM_SLOT, lambda nodes: is_split(*nodes)),
            (RECORDS_SLOT, lambda _: world.find_log("cluster_moving"))):
        hold = world.upstream.hold()
        world.add()
        hold.wait_arrived()
        owner = cluster.owner(slot)
        to = next(m for m in cluster.masters if m is not owner)
        for node in (owner, to):
            node("CONFIG", "RESETSTAT")
        cluster.begin_move(slot, to)
        equal(cluster.carry(slot, owner, to, 1), 1)
        hold.release()
        eventually(lambda: is_noticed((owner, to)), "its end has to wait")
        while cluster.carry(slot, owner, to, 10):
            pass
        cluster.end_move(slot, owner, to)
        world.add()
        world.wait_all_in_order()


def wait_copied(cluster, master):
    """Its replica has all that it has now, whoever wrote that."""
    offset = master("ROLE")[1]
    replica = cluster.replica_of(master)
    eventually(lambda: replica("ROLE")[4] >= offset, "it is copied")


@each([("that has the stream", STREAM_SLOT, "source_broker_down"),
       ("that has the records", RECORDS_SLOT, "node_down")])
def a_master_dies_in_the_middle(bench, slot, event):
    cluster = bench.own_cluster(options=PARTLY)
    world = World(bench, cluster)
    world.add()
    world.wait_all_in_order()
    hold = world.upstream.hold()
    world.add()
    hold.wait_arrived()
    dead = cluster.owner(slot)
    wait_copied(cluster, dead)
    cluster.kill(dead)
    eventually(lambda: world.find_log(event), event)
    hold.release()
    cluster.wait_failover(slot, dead)
    world.add()
    world.wait_all()


tap.main()
