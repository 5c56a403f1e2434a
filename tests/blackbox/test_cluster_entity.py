# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 3: newer_only and serialize on a Redis Cluster, while the
keys of a slot are moved to another server one by one; and entity, by which
records have their places."""

import json
import signal

from once import tap
from once.gateway import write
from once.rediscluster import slot_of
from once.tap import each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

SLOT = slot_of("{0}")  # of all keys: there is one shard


class Moving:
    """A slot in which all that a step may need exists, and which is moved."""

    def __init__(self, bench, **idempotency):
        self.cluster = bench.cluster()
        self.upstream = bench.upstream()
        config = bench.config(
            self.upstream, redis=self.cluster, cache={"size": 0},
            store={"shards": 1, "timeout": "1s"}, idempotency={
                "namespace": "item/{id}", "entity": {"path": "id"},
                **idempotency})
        config["routes"][0]["path"] = "/v1/items/{id}"
        self.gateway = bench.serve(config)
        # Indexes that are empty are no keys.
        self.upstream.reply = then_close(b"")
        equal(self.ask("unknown", item=8).problem, "outcome-unknown")
        self.upstream.reply = answer()
        self.other, self.busy = self.begin(bench, "busy", item=9)

    def ask(self, key, version=1, item=7):
        body = json.dumps({"version": version}).encode()
        return self.gateway.ask(key, target=f"/v1/items/{item}", body=body,
                                fields=[("X-Request-Id", f"of-{key}")])

    def begin(self, bench, *args, **kwargs):
        """A request that is in flight."""
        hold = self.upstream.hold()
        task = bench.background(self.ask, *args, **kwargs)
        hold.wait_arrived()
        self.upstream.reply = answer()
        return hold, task

    def release(self, key, version=1):
        """A key that has a record, and may be executed."""
        self.upstream.reply = answer(503)
        equal(self.ask(key, version).status, 503)
        self.upstream.reply = answer()

    def id_of(self, key):
        return self.gateway.wait_for_log(
            "request", request_id=f"of-{key}")["key_id"].encode()

    def record_of(self, key):
        """The name of its record."""
        return b"onceproxy:{0}:r:" + self.id_of(key)

    def entity_of(self, key):
        """The name of the entity that it holds, or held last."""
        source = self.cluster.owner(SLOT)
        [name] = [name for name in source.keys() if b":e:" in name and
                  self.id_of(key) in source("GET", name)]
        return name

    def all_but(self, *names):
        """Moves all keys of the slot but these."""
        self.source = self.cluster.owner(SLOT)
        self.to = next(
            m for m in self.cluster.masters if m is not self.source)
        self.cluster.begin_move(SLOT, self.to)
        there = [name for name in self.keys() if name not in names]
        assert len(there) == len(self.keys()) - len(names), there
        self.carry(there)

    def keys(self):
        return self.source("CLUSTER", "GETKEYSINSLOT", SLOT, 1000)

    def carry(self, names):
        """What waits for it may have come there meanwhile."""
        self.source("MIGRATE", "127.0.0.1", self.to.port, "", 0, 5000,
                    "REPLACE", "KEYS", *names)

    def end(self):
        """Moves the rest."""
        while self.keys():
            self.carry(self.keys())
        self.cluster.end_move(SLOT, self.source, self.to)

    def finish(self):
        """What was in flight all the time was not hurt."""
        self.other.release()
        equal(self.busy.result().status, 201)

    def waits(self, key, version=1):
        """No server can say whether it may be executed."""
        before = self.upstream.count()
        got = self.ask(key, version)
        equal((got.status, got.problem), (503, "store-unavailable"))
        self.gateway.wait_for_log("cluster_moving", operation="claim")
        equal(self.upstream.count(), before)

    def settled(self, key, version=1):
        """What it is told once Redis can be asked again."""
        def told():
            got = self.ask(key, version)
            return got if got.problem != "store-unavailable" else None
        return eventually(told)


@test
def a_version_that_is_on_another_server_is_waited_for(bench):
    moving = Moving(bench, newer_only="/version")
    moving.release("2", version=3)
    equal(moving.ask("1", version=5).status, 201)
    [entity] = [name for name in moving.cluster.owner(SLOT).keys()
                if b":e:" in name]
    moving.all_but(entity)
    moving.waits("2", version=3)
    moving.end()
    equal(moving.settled("2", version=3).problem, "stale-version")
    moving.finish()


@each([("the entity", "entity_of"), ("the holder", "record_of")])
def a_holder_is_waited_for_that_is_on_another_server(bench, what):
    moving = Moving(bench, serialize=True)
    moving.release("2")
    hold, first = moving.begin(bench, "1")
    equal(moving.ask("1").problem, "in-flight")  # the log knows its id
    moving.all_but(getattr(moving, what)("1"))
    moving.waits("2")
    moving.end()
    equal(moving.settled("2").problem, "entity-busy")
    hold.release()
    equal(first.result().status, 201)
    equal(moving.settled("2").status, 201)
    moving.finish()


@test
def a_claim_waits_until_its_entity_has_arrived(bench):
    moving = Moving(bench, serialize=True)
    moving.release("2")
    moving.all_but(moving.entity_of("2"))
    waits = bench.background(moving.settled, "2")
    moving.gateway.wait_for_log("cluster_moving", operation="claim")
    moving.end()
    equal(waits.result().status, 201)
    moving.finish()


@test
def a_version_is_raised_where_it_is_remembered(bench):
    moving = Moving(bench, newer_only="/version")
    equal(moving.ask("0", version=1).status, 201)
    hold, first = moving.begin(bench, "1", version=5)
    [entity] = [name for name in moving.cluster.owner(SLOT).keys()
                if b":e:" in name]
    moving.all_but(entity)
    hold.release()
    equal(first.result().status, 201)  # from disk
    moving.gateway.wait_for_log("cluster_moving", operation="complete")
    moving.end()
    moving.gateway.wait_for_log("journal_delivered")
    got = moving.settled("2", version=4)
    equal((got.problem, got.json().get("current_version")),
          ("stale-version", 5))
    moving.finish()


# --- reloads

PATH_ENTITY = {"path": "id"}


def reload(gateway, config, event):
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    return gateway.wait_for_log(event, since)


@each([("an entity", None, PATH_ENTITY), ("no entity", PATH_ENTITY, None),
       ("another one", PATH_ENTITY, {"path": "place"})])
def a_reload_does_not_lose_sight_of_what_was_executed(bench, before, after):
    """Records are where their entity is."""
    upstream = bench.upstream()
    config = bench.config(upstream, redis=bench.cluster(), cache={"size": 0},
                          idempotency={"namespace": "{place}/{id}",
                                       "entity": before})
    route = config["routes"][0]
    route["path"] = "/v1/{place}/{id}"
    if before is None:
        del route["idempotency"]["entity"]
    gateway = bench.serve(config)

    def ask(item):
        return gateway.ask("k", target=f"/v1/here/{item}")
    for item in range(5):
        equal(ask(item).status, 201)
    # What may change does.
    route["idempotency"]["replay_header"] = "Again"
    reload(gateway, config, "reloaded")
    equal(ask(0).get("Again"), "true")
    route["idempotency"]["entity"] = after
    if after is None:
        del route["idempotency"]["entity"]
    for _ in range(2):  # it is compared with what is in force
        line = reload(gateway, config, "reload_refused")
        equal(line["member"], "/routes/0/idempotency/entity")
    for item in range(5):
        equal(ask(item).get("Again"), "true")
    equal(upstream.count(), 5)


@test
def a_reload_may_bring_a_route_with_an_entity(bench):
    upstream = bench.upstream()
    config = bench.config(upstream, redis=bench.cluster())
    gateway = bench.serve(config)
    config["routes"].insert(0, {
        "name": "items", "path": "/v1/items/{id}", "upstream": "api",
        "idempotency": {"namespace": "item/{id}", "entity": PATH_ENTITY,
                        "serialize": True}})
    reload(gateway, config, "reloaded")
    for replayed in (False, True):
        equal(gateway.ask("k", target="/v1/items/7").replayed, replayed)
    # From then on it is one of those whose records stay.
    del config["routes"][0]["idempotency"]["serialize"]
    del config["routes"][0]["idempotency"]["entity"]
    reload(gateway, config, "reload_refused")


@test
def a_reload_does_not_lead_away_from_a_cluster(bench):
    """Where records share a shard with their entity, a key decides which one
    it is; on another store it need not, and a file for that does not say so."""
    upstream = bench.upstream()
    config = bench.config(upstream, redis=bench.cluster(),
                          idempotency={"namespace": "{id}",
                                       "entity": PATH_ENTITY})
    route = config["routes"][0]
    route["path"], route["status_path"] = "/v1/{id}", "/v1/{id}/keys/{key}"
    gateway = bench.serve(config)
    equal(gateway.ask("k", target="/v1/7").status, 201)
    config["store"] = bench.config(upstream)["store"]
    del route["idempotency"]["namespace"]
    route["status_path"] = "/v1/keys/{key}"
    line = reload(gateway, config, "reload_refused")
    equal(line["member"], "/store/cluster")
    equal(gateway.ask("k", target="/v1/7").replayed, True)
    got = gateway.ask(None, target="/v1/7/keys/k", method="GET", body=b"")
    equal((got.status, got.json()["state"]), (200, "completed"))


tap.main()
