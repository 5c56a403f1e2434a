# SPDX-License-Identifier: BSD-2-Clause
"""The store's Redis has lost its data, and the stream's has not: a source does
not execute what may have been executed, and an operator has its letters again,
or has it go on."""

from once import tap
from once.admin import Admin
from once.messages import Stream, as_text, copies, id_of, source
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually


class Stage:
    """A stream, and gateways whose store is another Redis."""

    def __init__(self, bench, **members):
        self.bench, self.refused, self.silent = bench, set(), set()
        self.upstream = bench.upstream(self.serve)
        self.store = bench.own_redis()
        self.stream = Stream(bench.own_redis())
        self.config = bench.config(
            self.upstream, {"lease": "1s"}, redis=self.store,
            admin={"listen": "127.0.0.1:0"})
        source(self.config, self.stream, **members)

    def serve(self, connection, request):
        key = request.get("Idempotency-Key")
        if key in self.silent:
            connection.close()
            return
        connection.send(answer(422 if key in self.refused else 201))

    def add(self, key, lane=1):
        return as_text(self.stream.add(
            body=b'{"lane":%d}' % lane, idempotency_key=key))

    def start(self, instance="one"):
        gateway = self.bench.serve({**self.config, "instance": instance})
        gateway.admin = Admin(gateway)
        return gateway

    def executed(self, gateway, key, count=1):
        gateway.wait_until(
            lambda: self.upstream.count(key=key) == count, f"{key} is sent")

    def acknowledged(self):
        eventually(lambda: self.stream.pending() == [], "all is acknowledged")


def letters(gateway):
    """Position, reason and state of each, in the order of the stream."""
    found = [(m["position"], m["reason"], m["state"])
             for state in ("dead", "parked") for m in gateway.admin.get(
                 f"/messages?source=charges&state={state}")["messages"]]
    return sorted(found)


def standing(gateway):
    return gateway.admin.get("/sources")["sources"][0]["standing"]


def act(gateway, position, what):
    """Once the gateway knows that it is acknowledged."""
    path = f"/messages/{id_of(position.encode())}/{what}"
    eventually(lambda: gateway.admin.post(
        path, {"note": "n"}).status in (200, 202), f"{what}: it is done")


def go_on(gateway):
    equal(gateway.admin.post("/sources/charges/resume",
                             {"unproven": []}).status, 200)


@test
def letters_that_the_store_has_lost_are_restored(bench):
    s = Stage(bench, order_by=["/lane"])
    s.refused.update(("first", "dropped", "replayed"))
    gateway = s.start()
    gateway.wait_for_log("source_group_made")
    first, behind = s.add("first"), s.add("behind")
    dropped, replayed = s.add("dropped", 2), s.add("replayed", 3)
    s.acknowledged()
    eventually(lambda: len(letters(gateway)) == 4, "four letters")
    act(gateway, dropped, "drop")
    s.refused.clear()
    key_id = [m["key_id"] for m in gateway.admin.get(
        "/messages?source=charges&state=dead")["messages"]
        if m["position"] == replayed]
    equal(gateway.admin.send("DELETE", f"/keys/{key_id[0]}").status, 200)
    act(gateway, replayed, "replay")
    s.executed(gateway, "replayed", 2)
    eventually(lambda: len(letters(gateway)) == 2, "two letters")
    before = letters(gateway)
    equal(before, sorted([(first, "refused", "dead"),
                          (behind, "behind", "parked")]))
    gateway.stop()
    s.store("FLUSHALL")

    second = s.start()
    second.wait_for_log("source_stands", reason="unproven")
    equal((standing(second), letters(second)), ("unproven", []))
    after, _ = s.add("after"), s.add("free", 2)
    said = second.admin.post("/sources/charges/restore", {"note": "n"})
    equal((said.status, said.json()["restored"]), (200, 2))
    second.wait_for_log("source_goes", reason="unproven")
    s.executed(second, "free")
    s.acknowledged()
    equal(letters(second), sorted([*before, (after, "behind", "parked")]))
    equal(s.upstream.count(key="after"), 0)
    # Nothing is restored twice.
    equal(second.admin.post(
        "/sources/charges/restore", {}).json()["restored"], 0)
    act(second, first, "replay")
    s.executed(second, "after")
    sent = [r.get("Idempotency-Key") for r in s.upstream.requests]
    equal([k for k in sent if k in ("first", "behind", "after")],
          ["first", "first", "behind", "after"])
    eventually(lambda: letters(second) == [], "none is left")
    equal((sent.count("dropped"), sent.count("replayed")), (1, 2))


@test
def what_is_lost_while_letters_are_restored_is_not_accepted(bench):
    """What was restored by then is lost again."""
    s = Stage(bench)
    s.config["workers"] = 1
    s.config["brokers"]["queue"]["timeout"] = "60s"
    beside = Stream(bench.own_redis(), "beside")
    s.config["brokers"]["beside"] = {"redis": beside.redis.url}
    s.config["sources"]["beside"] = {
        **s.config["sources"]["charges"], "broker": "beside",
        "stream": "beside"}

    def known():
        """Which store the worker of both sources knows."""
        count = len(copies(beside))
        s.refused.add(f"beside-{count}")
        beside.add(body=b"{}", idempotency_key=f"beside-{count}")
        eventually(lambda: len(copies(beside)) > count, "a copy of it")
        return copies(beside)[-1]["onceproxy-store"]

    def stands(gateway):
        found = gateway.admin.get("/sources")["sources"]
        return [one["standing"] for one in found if one["name"] == "charges"]

    before = s.start()
    one_is_dead(s, before)
    before.stop()
    s.store("FLUSHALL")
    gateway = s.start()
    gateway.wait_for_log("source_stands", reason="unproven")
    first = known()
    s.stream.redis.freeze()
    said = [bench.background(
        gateway.admin.post, "/sources/charges/restore", {}) for _ in range(2)]
    eventually(lambda: not all(task.thread.is_alive() for task in said),
               "one is refused, as the other one is under way")
    s.store("FLUSHALL")
    s.store("CLIENT", "KILL", "TYPE", "normal")
    eventually(lambda: known() != first, "that is known")
    s.stream.redis.thaw()
    equal([task.result().status for task in said], [409, 409])
    assert any(b"lost its data" in task.result().body for task in said)
    eventually(lambda: stands(gateway) == ["unproven"], "it stands still")
    equal(gateway.admin.post("/sources/charges/restore", {}).status, 200)
    eventually(lambda: stands(gateway) == [None], "it goes on")
    equal(len(letters(gateway)), 1)


def one_is_dead(s, gateway):
    gateway.wait_for_log("source_group_made")
    s.refused.add("dead")
    s.add("dead")
    gateway.wait_for_log("message", reason="refused")
    s.acknowledged()


@test
def what_an_operator_accepted_holds_for_all_gateways_and_after_a_restart(
        bench):
    s = Stage(bench)
    before = s.start()
    one_is_dead(s, before)
    before.stop()
    s.store("FLUSHALL")
    one, other = s.start(), s.start("other")
    for gateway in (one, other):
        gateway.wait_for_log("source_stands", reason="unproven")
    s.add("k1")
    go_on(one)
    for gateway in (one, other):
        gateway.wait_for_log("source_goes", reason="unproven")
    s.executed(one, "k1")
    s.acknowledged()
    one.stop()
    other.stop()
    third = s.start()
    s.add("k2")
    s.executed(third, "k2")
    equal(third.find_log("source_stands"), [])
    third.stop()
    # It was for that store alone.
    s.store("FLUSHALL")
    s.add("k3")
    fourth = s.start()
    fourth.wait_for_log("source_stands", reason="unproven")
    equal(s.upstream.count(key="k3"), 0)
    go_on(fourth)
    s.executed(fourth, "k3")


@each([("held", "held"), ("at work", "at work")])
def what_another_gateway_had_is_not_executed_where_its_record_is_lost(
        bench, how):
    """The store has lost its data since it was taken: nothing says that it was
    sent."""
    s = Stage(bench)
    first = s.start()
    if how == "held":
        s.silent.add("k")
        s.add("k")
        first.wait_for_log("message_held")
        other = s.start("other")
        other.wait_until(lambda: s.stream.blocked() == 2, "both read")
    else:
        hold = s.upstream.hold()
        s.add("k")
        hold.wait_arrived()
        other = s.start("other")
        other.wait_until(lambda: s.stream.blocked() == 2, "both read")
    s.silent.clear()
    first.kill()
    s.store("FLUSHALL")
    other.wait_for_log("source_stands", reason="unproven", timeout=30)
    equal((standing(other), s.upstream.count(key="k")), ("unproven", 1))
    s.add("new")
    equal(len(s.stream.pending()), 2)
    if how != "held":
        hold.release()
    go_on(other)
    s.executed(other, "k", 2)
    s.executed(other, "new")
    s.acknowledged()


tap.main()
