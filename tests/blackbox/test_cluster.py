# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3, store.cluster: the promise on a Redis Cluster, while
its slots move and its masters die."""

import random
import re
import threading

from once import http, tap
from once.rediscluster import slot_of
from once.tap import equal, test
from once.upstream import answer, refused_port, then_close
from once.wait import eventually

ADMIN = {"listen": "127.0.0.1:0"}
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
# So the death of one master does not touch the keys of the others.
PARTLY = ("--cluster-require-full-coverage", "no")
WAIT = {"in_flight": "wait", "wait_timeout": "8s"}
ONE = {"shards": 1}  # all keys are in one slot
ONE_SLOT = slot_of("{0}")


def admin(gateway, target, method="GET", body=None):
    return http.ask(gateway.ready["admin"], http.build(
        method, target, body=body, host="localhost"))


def ask(gateway, key):
    """A payment whose lines in the log can be found."""
    return gateway.ask(key, fields=[("X-Request-Id", f"of-{key}")])


def id_of(gateway, key):
    return gateway.wait_for_log("request", request_id=f"of-{key}")["key_id"]


def slot_of_key(gateway, key):
    return slot_of(f"{{{int(id_of(gateway, key)[:8], 16) % 64}}}")


def answered(gateway, key):
    """Sends it until it is answered, as a client does that gets 503."""
    def asked():
        got = ask(gateway, key)
        if got.status == 201:
            return got
        assert got.problem in ("store-unavailable", "in-flight"), got
        return None
    return eventually(asked, f"an answer for {key}", 60)


def counted(node, kind, name):
    """How often a server ran a command, or answered with an error."""
    for line in node("INFO", kind).decode().split("\r\n"):
        if line.startswith(name + ":"):
            return int(line.split("=")[1].split(",")[0])
    return 0


# --- the promise -----------------------------------------------------------

@test
def keys_of_all_masters_are_executed_once_and_replayed_as_they_were(bench):
    cluster = bench.cluster()
    upstream = bench.upstream()
    one, two = (bench.gateway(upstream, redis=cluster) for _ in range(2))
    keys = [f"k{n}" for n in range(40)]
    first = {key: one.ask(key) for key in keys}
    for key in keys:
        again = two.ask(key)
        equal((again.status, again.replayed, again.body),
              (201, True, first[key].body))
        equal(two.ask(key, body=b"{}").problem, "key-reused")
        equal(upstream.count(key=key), 1)
    for master in cluster.masters:
        assert any(b":r:" in name for name in master.keys()), master.address


@test
def clients_in_a_race_are_one_execution(bench):
    upstream = bench.upstream()
    gateways = [bench.gateway(upstream, redis=bench.cluster())
                for _ in range(2)]
    hold = upstream.hold()
    asks = [bench.background(gateways[n % 2].ask, "k") for n in range(20)]
    hold.wait_arrived()
    for gateway in gateways:  # whoever is not the owner says so
        equal(gateway.ask("k").problem, "in-flight")
    hold.release()
    done = [task.result().status for task in asks]
    equal((done.count(201) > 0, set(done) <= {201, 409}), (True, True))
    equal(upstream.count(), 1)


@test
def a_retry_that_waits_on_another_gateway_is_told(bench):
    cluster = bench.cluster()
    upstream = bench.upstream()
    one, two = (bench.gateway(upstream, idempotency=WAIT, redis=cluster,
                              log={"level": "debug"}) for _ in range(2))
    for key in ("a", "b", "c", "d", "e", "f"):  # on whichever master
        hold = upstream.hold()
        first = bench.background(one.ask, key)
        hold.wait_arrived()
        since = len(two.find_log("step", step="WAITED"))
        again = bench.background(two.ask, key)
        two.wait_for_steps("WAITED", since + 1)
        hold.release()
        equal(first.result().status, 201)
        equal((again.result().status, again.result().replayed), (201, True))
        equal(upstream.count(key=key), 1)


@test
def what_an_operator_deletes_is_dropped_from_memory_everywhere(bench):
    cluster = bench.cluster()
    upstream = bench.upstream()
    gateways = [bench.gateway(upstream, redis=cluster, workers=1,
                              admin=ADMIN) for _ in range(2)]

    def hits(gateway):
        return next(float(line.split()[1]) for line in admin(
            gateway, "/metrics").body.decode().splitlines()
            if line.startswith("onceproxy_cache_hits_total"))
    keys = [f"k{n}" for n in range(8)]
    for master in cluster.masters:  # each publishes changes of its own records
        eventually(lambda m=master: m(
            "CLIENT", "LIST", "TYPE", "pubsub").count(b"onceproxy") == 2,
            "both gateways listen to it")
    for gateway in gateways:
        for key in keys:
            def kept():
                before = hits(gateway)
                equal(ask(gateway, key).status, 201)
                return hits(gateway) > before
            eventually(kept, f"{key} is answered from memory")
    for key in keys:
        equal(admin(gateways[0], "/keys/" + id_of(gateways[0], key),
                    "DELETE", b"").status, 200)
        eventually(lambda: not ask(gateways[1], key).replayed or
                   upstream.count(key=key) == 2, "the deletion is heard")
        equal(upstream.count(key=key), 2)


@test
def records_of_all_masters_are_listed(bench):
    upstream = bench.upstream(then_close(b""))
    gateway = bench.gateway(upstream, redis=bench.cluster(), admin=ADMIN)
    for n in range(12):
        equal(ask(gateway, f"k{n}").problem, "outcome-unknown")
    wanted = {id_of(gateway, f"k{n}") for n in range(12)}
    found, cursor = [], ""
    while cursor is not None:
        page = admin(gateway, "/keys?limit=5" + cursor).json()
        found += page["keys"]
        cursor = page["next"] and "&cursor=" + page["next"]
    equal({record["key_id"] for record in found}, wanted)
    equal(sorted(r["changed"] for r in found), [r["changed"] for r in found])
    metrics = admin(gateway, "/metrics").body.decode()
    assert 'onceproxy_records{state="UNKNOWN"} 12' in metrics
    group, = admin(gateway, "/keys/groups").json()["groups"]
    equal((group["count"], group["oldest"]), (12, found[0]["changed"]))
    equal(admin(gateway, f"/keys/{found[0]['key_id']}/release", "POST",
                b"").status, 200)


@test
def a_lease_that_ran_out_is_noticed_wherever_it_is(bench):
    upstream = bench.upstream()
    one, two = (bench.gateway(upstream, redis=bench.cluster(),
                              idempotency={"lease": "2s"})
                for _ in range(2))
    upstream.hold()
    for n in range(6):
        bench.background(one.ask, f"k{n}")
    upstream.wait_for(6)
    one.kill()
    eventually(lambda: len(two.find_log(
        "outcome_unknown", reason="lease-expired")) == 6, "six are noticed")
    for n in range(6):
        equal(two.ask(f"k{n}").problem, "outcome-unknown")


# --- seeds -----------------------------------------------------------------

@test
def a_seed_that_is_dead_is_passed_over(bench):
    cluster = bench.cluster()
    upstream = bench.upstream()
    kept, port = refused_port()
    config = bench.config(upstream, redis=cluster, admin=ADMIN)
    config["store"]["cluster"] = [
        f"127.0.0.1:{port}", cluster.masters[1].address]
    gateway = bench.serve(config)
    for n in range(10):
        equal(gateway.ask(f"k{n}").status, 201)
    equal(admin(gateway, "/readyz").status, 200)
    equal(admin(gateway, "/status").json()["store"]["cluster"],
          config["store"]["cluster"])
    equal(gateway.find_log("store_down"), [])
    kept.close()


def refused(bench, config):
    """The message with which serve refuses to begin."""
    gateway = bench.serve(config, ready=False)
    equal(gateway.wait(), 1)
    return "\n".join(gateway.lines)


@test
def what_is_no_cluster_is_not_served_with(bench):
    proxy = bench.proxy(bench.redis.url, unix=False)
    config = bench.config(bench.upstream())
    config["store"] = {"cluster": [proxy.address], "timeout": "2s"}
    assert "cluster support disabled" in refused(bench, config)


# --- slots that move -------------------------------------------------------

def in_one_slot(bench, cluster, **members):
    """All keys are in ONE_SLOT: its owner, and a master that may take it
    over."""
    upstream = bench.upstream()
    store = {**ONE, **members.pop("store", {})}
    gateway = bench.gateway(upstream, redis=cluster, store=store, **members)
    owner = cluster.owner(ONE_SLOT)
    to = next(m for m in cluster.masters if m is not owner)
    return upstream, gateway, owner, to


@test
def a_slot_that_was_moved_is_followed_and_remembered(bench):
    cluster = bench.cluster()
    upstream, gateway, owner, to = in_one_slot(bench, cluster, workers=1)
    for n in range(5):
        equal(gateway.ask(f"k{n}").status, 201)
    owner("CONFIG", "RESETSTAT")
    cluster.move(ONE_SLOT, to)
    for n in range(60):
        equal(gateway.ask(f"k{n}").status, 201)
    gateway.wait_for_log("cluster_changed")
    for n in range(60):
        equal(upstream.count(key=f"k{n}"), 1)
    # The sweeper and the first request, not each of the sixty.
    assert counted(owner, "errorstats", "errorstat_MOVED") < 30
    equal(gateway.find_log("store_refused"), [])


@test
def a_large_answer_goes_after_its_slot(bench):
    """It is stored, and fetched, by other connections than its claim."""
    body = random.Random(1).randbytes(100_000)
    cluster = bench.cluster()
    upstream, gateway, owner, to = in_one_slot(
        bench, cluster, workers=1, cache={"size": 0})
    hold = upstream.hold(answer(201, body))
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    cluster.move(ONE_SLOT, to)
    hold.release()
    equal((first.result().status, first.result().body), (201, body))
    for master in (owner, to):
        got = answered(gateway, "k")
        equal((got.replayed, got.body), (True, body))
        if master is owner:
            cluster.move(ONE_SLOT, owner)
    equal(upstream.count(), 1)
    equal(gateway.find_log("store_refused"), [])
    equal(gateway.find_log("settle_late"), [])


@test
def a_key_on_its_way_is_asked_for_where_it_has_arrived(bench):
    cluster = bench.cluster()
    upstream, gateway, owner, to = in_one_slot(bench, cluster)
    upstream.reply = then_close(b"")
    equal(gateway.ask("held").problem, "outcome-unknown")
    hold = upstream.hold(answer())
    busy = bench.background(gateway.ask, "busy")  # an open lease
    hold.wait_arrived()
    source = cluster.begin_move(ONE_SLOT, to)
    cluster.carry(ONE_SLOT, source, to)
    to("CONFIG", "RESETSTAT")
    equal(gateway.ask("held").problem, "outcome-unknown")
    assert counted(to, "commandstats", "cmdstat_asking") > 0
    cluster.end_move(ONE_SLOT, source, to)
    hold.release()
    equal(busy.result().status, 201)
    equal(upstream.count(), 2)


@test
def what_no_server_can_run_now_is_not_executed(bench):
    """Nor forwarded: Redis is not away."""
    cluster = bench.cluster()
    upstream, gateway, owner, to = in_one_slot(
        bench, cluster, cache={"size": 0}, store={"timeout": "1s"},
        idempotency={"on_store_down": "forward"})
    equal(answered(gateway, "old").status, 201)
    source = cluster.begin_move(ONE_SLOT, to)
    equal(cluster.carry(ONE_SLOT, source, to, ending=b":leases"), 1)
    got = gateway.ask("new")
    equal((got.status, got.problem), (503, "store-unavailable"))
    gateway.wait_for_log("cluster_moving")
    equal(upstream.count(key="new"), 0)
    waits = bench.background(answered, gateway, "patient")
    cluster.carry(ONE_SLOT, source, to)
    cluster.end_move(ONE_SLOT, source, to)
    equal(waits.result().status, 201)
    equal(answered(gateway, "new").status, 201)
    equal(answered(gateway, "old").replayed, True)
    for key in ("old", "new", "patient"):
        equal(upstream.count(key=key), 1)


@test
def a_claim_waits_until_its_slot_has_arrived(bench):
    cluster = bench.cluster()
    upstream, gateway, owner, to = in_one_slot(
        bench, cluster, store={"timeout": "20s"})
    equal(gateway.ask("old").status, 201)
    source = cluster.begin_move(ONE_SLOT, to)
    equal(cluster.carry(ONE_SLOT, source, to, ending=b":leases"), 1)
    waits = bench.background(gateway.ask, "new")
    gateway.wait_for_log("cluster_moving", operation="claim")
    equal(upstream.count(), 1)
    cluster.carry(ONE_SLOT, source, to)
    cluster.end_move(ONE_SLOT, source, to)
    equal(waits.result().status, 201)
    equal(upstream.count(), 2)


@test
def an_outcome_that_comes_while_its_slot_moves_goes_to_disk_first(bench):
    cluster = bench.cluster()
    upstream, gateway, owner, to = in_one_slot(
        bench, cluster, cache={"size": 0}, store={"timeout": "1s"})
    equal(answered(gateway, "old").status, 201)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    source = cluster.begin_move(ONE_SLOT, to)
    # Each outcome takes its record from this list.
    equal(cluster.carry(ONE_SLOT, source, to, ending=b":leases"), 1)
    hold.release()
    equal(first.result().status, 201)
    equal(gateway.ask("k").problem, "in-flight")
    cluster.carry(ONE_SLOT, source, to)
    cluster.end_move(ONE_SLOT, source, to)
    gateway.wait_for_log("journal_delivered")
    again = answered(gateway, "k")
    equal((again.replayed, again.body), (True, first.result().body))
    equal(upstream.count(key="k"), 1)


@test
def many_retries_at_once_follow_a_slot_that_moves(bench):
    """Each of them asks the new server by itself."""
    cluster = bench.cluster()
    upstream, gateway, _, to = in_one_slot(
        bench, cluster, cache={"size": 0}, workers=1)
    keys = [f"k{n}" for n in range(40)]
    first = [answered(gateway, key).body for key in keys]
    source = cluster.begin_move(ONE_SLOT, to)
    cluster.carry(ONE_SLOT, source, to)
    start = threading.Barrier(len(keys))

    def client(key):
        start.wait(20)
        return gateway.ask(key)
    tasks = [bench.background(client, key) for key in keys]
    for task in tasks:
        assert task.result().status in (201, 503), task.result()
    cluster.end_move(ONE_SLOT, source, to)
    again = [answered(gateway, key) for key in keys]
    equal([(a.replayed, a.body) for a in again],
          [(True, body) for body in first])
    equal(gateway.find_log("store_garbled"), [])
    equal(upstream.count(), len(keys))


@test
def slots_move_under_load_and_nothing_is_doubled(bench):
    cluster = bench.cluster()
    upstream = bench.upstream()
    gateways = [bench.gateway(upstream, redis=cluster) for _ in range(2)]
    over = threading.Event()
    keys = [[] for _ in range(4)]

    def client(lane):
        while not over.is_set():
            key = f"k{lane}-{len(keys[lane])}"
            got = answered(gateways[lane % 2], key)
            again = answered(gateways[(lane + 1) % 2], key)
            equal((again.replayed, again.body), (True, got.body))
            keys[lane].append(key)
    clients = [bench.background(client, lane) for lane in range(4)]
    for shard in range(20):
        had = [len(lane) for lane in keys]
        slot = slot_of(f"{{{shard}}}")
        owner = cluster.owner(slot)
        at = cluster.masters.index(owner)
        cluster.move(slot, cluster.masters[(at + 1) % 3])
        eventually(lambda: all(
            len(lane) > before for lane, before in zip(keys, had)) or
            any(not t.thread.is_alive() for t in clients), "all go on", 60)
    over.set()
    for task in clients:
        task.result(60)
    for key in sum(keys, []):
        equal(upstream.count(key=key), 1)
    for gateway in gateways:
        gateway.wait_for_log("cluster_changed")


# --- servers that die ------------------------------------------------------

@test
def the_keys_of_a_dead_master_wait_for_its_replica_and_others_go_on(bench):
    cluster = bench.own_cluster(options=PARTLY)
    upstream = bench.upstream()
    one, two = (bench.gateway(upstream, redis=cluster, admin=ADMIN,
                              cache={"size": 0}) for _ in range(2))
    keys = [f"k{n}" for n in range(30)]
    first = {key: ask(one, key) for key in keys}
    dead = cluster.masters[0]
    theirs = {key: cluster.owner(slot_of_key(one, key)) is dead
              for key in keys}
    assert set(theirs.values()) == {True, False}
    hold = upstream.hold()
    busy = bench.background(ask, one, "busy")
    hold.wait_arrived()
    cluster.wait_well()

    cluster.kill(dead)
    for gateway in (one, two):
        gateway.wait_for_log("node_down")
        for key in keys:
            got = ask(gateway, key)
            if not theirs[key]:
                equal((got.status, got.replayed), (201, True))
            else:  # the replica may have been quick
                assert got.problem == "store-unavailable" or got.replayed
        equal(admin(gateway, "/readyz").status, 200)
    hold.release()
    equal(busy.result().status, 201)
    for key in keys:
        for gateway in (one, two):
            again = answered(gateway, key)
            equal((again.replayed, again.body), (True, first[key].body))
    for gateway in (one, two):
        gateway.wait_for_log("cluster_changed")
        for n in range(30):
            equal(answered(gateway, f"new{n}").status, 201)
    equal(answered(two, "busy").replayed, True)
    for key in (*keys, "busy", *(f"new{n}" for n in range(30))):
        equal(upstream.count(key=key), 1)

    dead.start()
    eventually(lambda: dead.role() == "slave", "it is a replica now", 60)
    cluster.wait_well()
    for key in keys:
        equal(answered(one, key).replayed, True)


@test
def outcomes_for_a_dead_master_do_not_hold_up_the_others(bench):
    cluster = bench.own_cluster(replicas=0, options=(*PARTLY, *DURABLE))
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, redis=cluster, workers=1,
                            cache={"size": 0}, store={"timeout": "1s"})
    keys = [f"k{n}" for n in range(12)]
    holds, asks = [], []
    for key in keys:
        holds.append(upstream.hold())
        asks.append(bench.background(ask, gateway, key))
        holds[-1].wait_arrived()
    dead, *others = cluster.masters
    for node in cluster.masters:
        node.freeze()
    for hold in holds:
        hold.release()
    for task in asks:  # all of them are on disk
        equal(task.result().status, 201)
    for node in others:
        node.thaw()
    theirs = [key for key in keys
              if slot_of_key(gateway, key) <= 5460]  # the first third
    assert 0 < len(theirs) < len(keys), theirs

    def delivered(key):
        return gateway.find_log(
            "journal_delivered", key_id=id_of(gateway, key))
    for key in keys:
        if key not in theirs:
            eventually(lambda: delivered(key), f"{key} is delivered")
    assert not any(delivered(key) for key in theirs)
    dead.thaw()
    for key in keys:
        eventually(lambda: delivered(key), f"{key} is delivered")
        equal(answered(gateway, key).replayed, True)
        equal(upstream.count(key=key), 1)


def has_read(gateway):
    """How many bytes the process has read, of files and otherwise."""
    with open(f"/proc/{gateway.pid}/io", encoding="ascii") as file:
        return int(re.search(r"^rchar: (\d+)", file.read(), re.M)[1])


@test
def outcomes_for_a_dead_master_are_not_read_until_it_is_back(bench):
    size = 50_000
    cluster = bench.own_cluster(replicas=0, options=(*PARTLY, *DURABLE))
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, redis=cluster, workers=1, cache={"size": 0}, admin=ADMIN,
        idempotency={"lease": "1m"},
        store={"timeout": "1s", "compression": "none"})
    keys = [f"k{n}" for n in range(12)]
    hold = upstream.hold(answer(201, b"x" * size))
    asks = [bench.background(ask, gateway, key) for key in keys]
    upstream.wait_for(len(keys))
    dead, living, _ = cluster.masters
    names = [name for name in living.keys() if b":r:" in name][:2]
    whole = [living("GET", name) for name in names]
    for name, value in zip(names, whole):
        living("SET", name, b"?" + value[1:])
    cluster.kill(dead)
    gateway.wait_for_log("node_down")
    hold.release()
    for task in asks:
        equal(task.result().status, 201)
    theirs = [key for key in keys if slot_of_key(gateway, key) <= 5460]
    assert len(theirs) > 2, theirs
    eventually(lambda: admin(gateway, "/status").json()["journal"] == {
        "entries": len(theirs) + 2, "writable": True, "blocked": 2,
        "foreign": 0, "damaged": 0})
    # From the one that is taken to the other a pass goes through all.
    for name, value in zip(names, whole):
        before = has_read(gateway)
        living("SET", name, value)
        gateway.wait_for_log("journal_delivered", key_id=name[-32:].decode())
    assert has_read(gateway) - before < 3 * size, has_read(gateway) - before


@test
def outcomes_for_a_dead_master_leave_a_worker_time_to_serve_and_end(bench):
    cluster = bench.own_cluster(replicas=0, options=(*PARTLY, *DURABLE))
    upstream = bench.upstream()
    config = bench.config(upstream, redis=cluster, workers=1,
                          cache={"size": 0}, drain_timeout="1s",
                          store={"timeout": "1s"})
    gateway = bench.serve(config)
    keys = [f"k{n}" for n in range(12)]
    hold = upstream.hold()
    asks = [bench.background(ask, gateway, key) for key in keys]
    upstream.wait_for(len(keys))
    dead = cluster.masters[0]
    cluster.kill(dead)
    gateway.wait_for_log("node_down")
    hold.release()
    for task in asks:
        equal(task.result().status, 201)
    theirs = [key for key in keys
              if slot_of_key(gateway, key) <= 5460]  # the first third
    assert 2 < len(theirs) < len(keys), theirs
    gateway.stop()

    gateway = bench.serve(config)
    gateway.wait_for_log("journal_adopted", entries=len(theirs))
    for key in keys:
        if key not in theirs:
            equal(answered(gateway, key).replayed, True)
    dead.start()
    for key in keys:
        equal(answered(gateway, key).replayed, True)
        equal(upstream.count(key=key), 1)


@test
def a_cluster_that_is_gone_comes_back(bench):
    cluster = bench.own_cluster(replicas=0, options=DURABLE)
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, redis=cluster, admin=ADMIN,
                            cache={"size": 0})
    for n in range(10):
        equal(gateway.ask(f"k{n}").status, 201)
    for node in cluster.nodes:
        node.kill()
    gateway.wait_for_log("store_down")
    equal(gateway.ask("new").problem, "store-unavailable")
    equal(admin(gateway, "/readyz").status, 503)
    since = len(gateway.events)
    for node in cluster.nodes:
        node.start()
    gateway.wait_for_log("store_up", since)
    for n in range(10):
        equal(answered(gateway, f"k{n}").replayed, True)
    equal(answered(gateway, "new").status, 201)
    equal(upstream.count(), 11)


# --- what endangers the promise --------------------------------------------

@test
def a_master_that_may_evict_is_not_trusted(bench):
    cluster = bench.cluster()
    upstream = bench.upstream()
    gateway = bench.gateway(upstream, redis=cluster, admin=ADMIN)
    config = gateway.config
    node = cluster.masters[2]
    eventually(lambda: admin(gateway, "/readyz").status == 200, "it is ready")
    try:
        node("CONFIG", "SET", "maxmemory-policy", "allkeys-lru",
             "maxmemory", "100mb")
        eventually(lambda: admin(gateway, "/readyz").status == 503,
                   "it turns unready")
        equal(gateway.ask("k").problem, "store-unavailable")
        equal(upstream.count(), 0)
        assert f"{node.address}: Redis may evict" in refused(bench, config)
    finally:
        node("CONFIG", "SET", "maxmemory-policy", "noeviction",
             "maxmemory", "0")
    eventually(lambda: admin(gateway, "/readyz").status == 200,
               "it is ready again")
    equal(gateway.ask("k").status, 201)


tap.main()
