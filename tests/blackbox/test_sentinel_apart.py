# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.sentinels: the network falls apart.  Machines, in
network namespaces, have a redis-server and a Sentinel each; the one with the
master is cut off, and goes on as if nothing had happened."""

import os
import stat

from once import tap
from once.gateway import program
from once.network import Network
from once.redis import RedisError
from once.sentinels import LONG
from once.tap import equal, test
from once.wait import eventually

tap.LIMIT_S = 300  # a failover takes its time


class World:
    """Three machines with a Redis and a Sentinel, and one with nothing."""

    def __init__(self, bench):
        self.bench = bench
        self.network = Network(4)
        bench.proxies.append(self.network)  # it ends with those
        self.machines = self.network.machines
        self.sentinels = bench.sentinels(machines=[
            (m.host, m.words) for m in self.machines[:3]])
        self.upstream = bench.upstream()
        self.way = bench.proxy(self.upstream.url, unix=True)

    def gateway(self, machine, **store):
        """A gateway on that machine; we and the upstream reach it from
        outside."""
        folder = self.bench.folder()
        run = os.path.join(folder, "run")
        with open(run, "w", encoding="ascii") as out:
            out.write("#!/bin/sh\nexec %s '%s' \"$@\"\n" % (
                " ".join(machine.words), program()))
        os.chmod(run, stat.S_IRWXU)
        return self.bench.serve(self.bench.config(
            f"unix:{self.way.address[5:]}", redis=self.sentinels,
            listen=[f"unix:{folder}/listen"], cache={"size": 0},
            store={"timeout": "1s", **store}), program=run)


def taken(gateway, key):
    """Pays until Redis takes the claim."""
    def got():
        answer = gateway.ask(key)
        # A claim that came too late is given back.
        late = answer.status == 503 or answer.problem == "in-flight"
        return None if late else answer
    equal(eventually(got, f"{key} is taken", LONG).status, 201)


def replays(gateway, key):
    eventually(lambda: gateway.ask(key).replayed, f"{key} is replayed", LONG)


def refused(gateway, key):
    got = gateway.ask(key)
    equal((got.status, got.problem), (503, "store-unavailable"))


@test
def a_gateway_that_loses_the_master_with_its_machine_finds_the_new_one(bench):
    world = World(bench)
    old = world.sentinels.servers[0]
    gateway = world.gateway(world.machines[1])
    taken(gateway, "before")
    world.sentinels.wait_copied()
    world.machines[0].unplug()
    gateway.wait_for_log("store_down", timeout=LONG)
    refused(gateway, "meanwhile")
    new = world.sentinels.wait_moved(old, world.sentinels.sentinels[1:])
    gateway.wait_for_log("master_moved", to=new.host, timeout=LONG)
    taken(gateway, "meanwhile")
    # The old one still believes that it is the master; nobody uses it.
    equal(old.info("role"), "master")
    replays(gateway, "before")
    world.machines[0].plug()
    eventually(lambda: old.info("role") == "slave", "it gives in", LONG)
    taken(gateway, "after")
    for key in ("before", "meanwhile"):
        replays(gateway, key)
    equal(world.upstream.count(), 3)
    equal(len(gateway.find_log("master_moved")), 1)


@test
def a_gateway_that_is_cut_off_with_the_master_is_stopped_by_redis(bench):
    """By min-replicas-to-write, after min-replicas-max-lag seconds: what was
    claimed until then is lost, as the manual says."""
    world = World(bench)
    old = world.sentinels.servers[0]
    for server in world.sentinels.servers:
        server("CONFIG", "SET", "min-replicas-to-write", 1,
               "min-replicas-max-lag", 2)
    apart = world.gateway(world.machines[0])
    other = world.gateway(world.machines[1])
    taken(apart, "before")
    replays(other, "before")
    world.sentinels.wait_copied()
    world.machines[0].unplug()

    def is_alone():
        try:
            old("SET", "probe", 1)
        except RedisError as error:
            assert error.args[0].startswith("NOREPLICAS"), error
            return True
        return False
    eventually(is_alone, "the old master refuses", LONG)
    count = world.upstream.count()
    refused(apart, "k")
    new = world.sentinels.wait_moved(old, world.sentinels.sentinels[1:])
    other.wait_for_log("master_moved", to=new.host, timeout=LONG)
    taken(other, "k")
    refused(apart, "k")
    world.machines[0].plug()
    apart.wait_for_log("master_moved", to=new.host, timeout=LONG)
    replays(apart, "k")
    for gateway in (apart, other):
        replays(gateway, "before")
    equal(world.upstream.count(), count + 1)


@test
def what_counts_with_its_replicas_alone_is_not_lost(bench):
    """With store.wait_replicas a gateway that is cut off with the master
    forwards nothing from the first moment on."""
    world = World(bench)
    old = world.sentinels.servers[0]
    store = {"wait_replicas": 1, "wait_timeout": "400ms"}
    apart = world.gateway(world.machines[0], **store)
    other = world.gateway(world.machines[1], **store)
    taken(apart, "before")
    world.sentinels.wait_copied()
    world.machines[0].unplug()
    for number in range(3):
        refused(apart, f"k{number}")
    equal(old.info("role"), "master")
    new = world.sentinels.wait_moved(old, world.sentinels.sentinels[1:])
    other.wait_for_log("master_moved", to=new.host, timeout=LONG)
    taken(other, "k0")
    replays(other, "before")
    refused(apart, "k1")
    world.machines[0].plug()
    apart.wait_for_log("master_moved", to=new.host, timeout=LONG)
    taken(apart, "k1")
    replays(apart, "k0")
    equal(world.upstream.count(), 3)


@test
def a_gateway_that_sees_both_sides_goes_to_the_newer_one(bench):
    """The old master answers it and takes writes, and the first Sentinel in
    its list names that master."""
    world = World(bench)
    old = world.sentinels.servers[0]
    gateway = world.gateway(world.machines[3])
    taken(gateway, "before")
    world.sentinels.wait_copied()
    world.machines[0].lose(world.machines[1:3])
    new = world.sentinels.wait_moved(old, world.sentinels.sentinels[1:])
    gateway.wait_for_log("master_moved", to=new.host, timeout=LONG)
    equal(world.sentinels.sentinels[0].master()[0], old.host)
    equal(old.info("role"), "master")
    taken(gateway, "k")
    # A gateway that starts now goes there too, and both stay.
    late = world.gateway(world.machines[3])
    late.wait_for_log("master_found", to=new.host)
    for each in (gateway, late):
        for key in ("before", "k"):
            replays(each, key)
    world.machines[0].find(world.machines[1:3])
    eventually(lambda: old.info("role") == "slave", "it gives in", LONG)
    for each in (gateway, late):
        for key in ("before", "k"):
            replays(each, key)
    taken(late, "after")
    equal(world.upstream.count(), 3)
    equal(len(gateway.find_log("master_moved")), 1)
    equal(late.find_log("master_moved"), [])


tap.main()
