# SPDX-License-Identifier: BSD-2-Clause
"""What operators see of sources and their messages, and do to them."""

import base64
import signal

from once import http, tap
from once.admin import Admin
from once.messages import Stream, id_of, source
from once.tap import equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually


def started(bench, upstream, idempotency=None, members=None, **more):
    """A stream, a gateway that reads it, and its admin interface."""
    stream = Stream(bench.own_redis(
        "--appendonly", "yes", "--appendfsync", "always"))
    config = bench.config(upstream, idempotency, admin={
        "listen": "127.0.0.1:0"}, **more)
    source(config, stream, **(members or {}))
    gateway = bench.serve(config)
    return stream, gateway, Admin(gateway)


def listed(admin, query=""):
    return admin.get("/messages" + query)["messages"]


def wait_for_listed(admin, count, query=""):
    """The messages that are listed, as soon as there are so many."""
    eventually(lambda: len(listed(admin, query)) == count,
               f"{count} messages in the list")
    return listed(admin, query)


@test
def a_source_is_shown_with_what_it_does(bench):
    stream, gateway, admin = started(bench, bench.upstream(close_unanswered))
    stream.add(body=b"{}", idempotency_key="k")
    wait_for_listed(admin, 1)
    shown, = admin.get("/sources")["sources"]
    assert shown.pop("lag") in (0, 1)  # of a moment ago
    equal(shown, {
        "name": "charges", "kind": "redis", "broker": "queue",
        "stream": "charges", "group": "onceproxy", "standing": None,
        "reasons": [], "paused": None, "broker_up": True, "in_flight": 0,
        "parts_standing": 0,
        "held": 1, "retrying": 0, "waiting": 0, "parked": 0,
        "dead": 0})


@test
def a_message_is_shown_with_the_label_of_its_key(bench):
    stream, gateway, admin = started(
        bench, bench.upstream(close_unanswered), {"label": ["/order"]})
    named = stream.add(body=b'{"order":"A-7"}', idempotency_key="k1")
    stream.add(body=b"{}", idempotency_key="k2")
    wait_for_listed(admin, 2)
    gateway.wait_until(
        lambda: len(gateway.find_log("message_held")) == 2, "both are held")
    shown = wait_for_listed(admin, 2, "?state=held")
    equal([m.get("label") for m in shown], ["A-7", None])
    equal(admin.get(f"/messages/{id_of(named)}")["label"], "A-7")


@test
def a_source_that_stands_still_says_why(bench):
    stream, gateway, admin = started(bench, bench.upstream())
    stream.redis.kill()
    gateway.wait_for_log("source_stands", reason="broker")
    shown, = admin.get("/sources")["sources"]
    equal((shown["standing"], shown["reasons"], shown["broker_up"]),
          ("broker", ["broker"], False))
    assert shown["why"].endswith("."), shown
    assert shown["error"], shown


@test
def dead_letters_are_shown_and_replayed_while_their_broker_is_away(bench):
    """What was asked for is done when it is there again."""
    upstream = bench.upstream(answer(422))
    stream, gateway, admin = started(bench, upstream)
    name = id_of(stream.add(body=b"{}", idempotency_key="k"))
    gateway.wait_for_log("message", outcome="refused")
    dead = "?source=charges&state=dead"
    letter, = wait_for_listed(admin, 1, dead)
    stream.redis.kill()
    gateway.wait_for_log("source_stands", reason="broker")
    equal(listed(admin, dead), [letter])
    equal(admin.get("/messages/" + name)["status"], 422)
    equal(admin.send("GET", f"/messages/{id_of(b'1-1')}").status, 404)
    equal(admin.send("DELETE", "/keys/" + letter["key_id"]).status, 200)
    upstream.reply = answer(201)
    got = admin.post(f"/messages/{name}/replay", {"note": "n"})
    equal((got.status, got.json()), (202, {"id": name, "replayed": True}))
    gateway.wait_for_log("operator_replay", note="n")
    stream.redis.restart()
    gateway.wait_for_log("message", outcome="executed")
    wait_for_listed(admin, 0, dead)
    equal((upstream.count(), stream.pending()), (2, []))


@test
def sources_of_all_workers_are_shown_in_the_order_of_their_names(bench):
    stream = Stream(bench.own_redis())
    config = bench.config(bench.upstream(), workers=3, admin={
        "listen": "127.0.0.1:0"})
    names = [f"s{n}" for n in range(9)]
    for name in names:
        source(config, Stream(stream.redis, name), name)
    admin = Admin(bench.serve(config))
    equal([s["name"] for s in admin.get("/sources")["sources"]], names)


@test
def a_gateway_without_sources_has_empty_lists(bench):
    config = bench.config(bench.upstream(), admin={"listen": "127.0.0.1:0"})
    admin = Admin(bench.serve(config))
    equal(admin.get("/sources"), {"sources": []})
    equal(admin.get("/messages"), {"messages": [], "next": None})


@test
def a_held_message_is_listed_with_its_key(bench):
    stream, gateway, admin = started(bench, bench.upstream(close_unanswered))
    position = stream.add(body=b"{}", idempotency_key="k")
    held = gateway.wait_for_log("message_held", source="charges")
    message, = wait_for_listed(admin, 1, "?source=charges&state=held")
    equal((message["id"], message["state"], message["reason"],
           message["position"], message["key_id"], message["attempt"],
           message["source"], message["route"]),
          (id_of(position), "held", "unknown", position.decode(),
           held["key_id"], 1, "charges", "charges"))
    assert message["first"] < message["next_try"], message
    equal(admin.get("/messages/" + message["id"]), message)
    equal(admin.get("/keys/" + held["key_id"])["state"], "UNKNOWN")
    equal(listed(admin, "?state=retrying"), [])
    got = admin.send("POST", f"/messages/{message['id']}/replay")
    equal((got.status, got.problem), (409, "conflict"))
    assert f"keys complete {held['key_id']}" in got.json()["detail"], got.body


@test
def what_waits_behind_a_held_message_is_counted_and_listed(bench):
    """Where it is asked for: else it would hide what it waits behind."""
    stream, gateway, admin = started(
        bench, bench.upstream(close_unanswered), None,
        {"order_by": ["/account"]})
    positions = [stream.add(body=b'{"account":1}', idempotency_key=f"k{n}")
                 for n in range(3)]
    gateway.wait_for_log("message_held")  # until then it may wait as well
    waiting = wait_for_listed(admin, 2, "?state=waiting")
    equal([(m["id"], m["state"]) for m in waiting],
          [(id_of(position), "waiting") for position in positions[1:]])
    held, = wait_for_listed(admin, 1)
    equal(held["id"], id_of(positions[0]))
    eventually(lambda: [admin.get("/sources")["sources"][0][word]
                        for word in ("in_flight", "held", "waiting")]
               == [0, 1, 2], "all are counted")


@test
def a_message_that_waits_to_be_tried_again_is_listed(bench):
    stream, gateway, admin = started(
        bench, bench.upstream(answer(503)), None,
        {"retry": {"first": "1h", "most": "1h", "attempts": 5}})
    stream.add(body=b"{}", idempotency_key="k")
    message, = wait_for_listed(admin, 1, "?state=retrying")
    equal((message["state"], message["reason"], message["attempt"]),
          ("retrying", "released", 1))
    assert message["key_id"] and message["next_try"], message
    equal(listed(admin, "?state=held"), [])


@test
def a_list_goes_on_where_its_page_has_ended(bench):
    stream, gateway, admin = started(
        bench, bench.upstream(close_unanswered), workers=2)
    for n in range(25):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    whole = wait_for_listed(admin, 25)
    equal(whole, sorted(whole, key=lambda m: (
        m["first"], base64.urlsafe_b64decode(m["id"] + "=="))))
    pages, cursor = [], ""
    while cursor is not None:
        page = admin.get("/messages?limit=10" + cursor)
        pages.append(page["messages"])
        cursor = page["next"] and "&cursor=" + page["next"]
    equal([len(page) for page in pages], [10, 10, 5])
    equal([m["id"] for page in pages for m in page],
          [m["id"] for m in whole])


@test
def a_held_message_that_is_dropped_is_acknowledged(bench):
    upstream = bench.upstream(close_unanswered)
    stream, gateway, admin = started(bench, upstream)
    stream.add(body=b"{}", idempotency_key="k")
    message, = wait_for_listed(admin, 1)
    got = admin.post(f"/messages/{message['id']}/drop", {"note": "twice"})
    equal((got.status, got.json()),
          (200, {"id": message["id"], "dropped": True}))
    equal(stream.pending(), [])
    equal(stream.entries("charges:dead"), [])
    equal(listed(admin), [])
    line = gateway.wait_for_log("operator_message", act="drop")
    equal((line["note"], line["id"], line["before"], line["source"],
           line["key_id"]),
          ("twice", message["id"], "held", "charges", message["key_id"]))
    gateway.wait_for_log("message", outcome="dropped",
                         key_id=message["key_id"])
    equal(admin.get("/keys/" + message["key_id"])["state"], "UNKNOWN")
    equal(upstream.count(), 1)


@test
def a_message_that_waits_for_its_retry_can_be_dropped(bench):
    upstream = bench.upstream(answer(503))
    stream, gateway, admin = started(
        bench, upstream, None,
        {"retry": {"first": "1h", "most": "1h", "attempts": 5}})
    stream.add(body=b"{}", idempotency_key="k")
    message, = wait_for_listed(admin, 1)
    equal(admin.post(f"/messages/{message['id']}/drop").status, 200)
    equal((stream.pending(), upstream.count()), ([], 1))


@test
def what_waits_behind_a_dropped_message_has_its_turn(bench):
    calls = []

    def script(connection, request):
        calls.append(request)
        if len(calls) == 1:
            connection.close()
        else:
            connection.send(answer())
    upstream = bench.upstream(script)
    stream, gateway, admin = started(
        bench, upstream, None, {"order_by": ["/a"]})
    stream.add(body=b'{"a":1}', idempotency_key="k1")
    first, = wait_for_listed(admin, 1)
    middle = id_of(stream.add(body=b'{"a":1}', idempotency_key="k2"))
    stream.add(body=b'{"a":1}', idempotency_key="k3")
    eventually(lambda: admin.send("GET", "/messages/" + middle).status == 200,
               "it is taken")
    equal(admin.post(f"/messages/{middle}/drop").status, 200)
    equal(upstream.count(), 1)
    equal(admin.post(f"/messages/{first['id']}/drop").status, 200)
    gateway.wait_for_log("message", outcome="executed")
    equal([upstream.count(key=k) for k in ("k1", "k2", "k3")], [1, 0, 1])
    equal(stream.pending(), [])


@test
def a_message_that_is_being_executed_is_not_dropped(bench):
    upstream = bench.upstream()
    stream, gateway, admin = started(bench, upstream)
    hold = upstream.hold()
    message = id_of(stream.add(body=b"{}", idempotency_key="k"))
    hold.wait_arrived()
    equal(admin.get("/messages/" + message)["state"], "in-flight")
    got = admin.post(f"/messages/{message}/drop")
    equal((got.status, got.problem), (409, "conflict"))
    hold.release()
    gateway.wait_for_log("message", outcome="executed")


@test
def a_drop_that_the_broker_does_not_take_says_so(bench):
    stream, gateway, admin = started(bench, bench.upstream(close_unanswered))
    stream.add(body=b"{}", idempotency_key="k")
    message, = wait_for_listed(admin, 1)
    stream.redis.kill()
    gateway.wait_for_log("source_stands", reason="broker")
    got = admin.post(f"/messages/{message['id']}/drop", {"note": "n"})
    equal((got.status, got.problem), (503, "not-answered"))
    gateway.wait_for_log("operator_message_unsure", note="n")
    stream.redis.restart()
    gateway.wait_for_log("message", outcome="dropped")
    equal(stream.pending(), [])


@test
def a_drop_that_waits_keeps_no_gateway_from_ending(bench):
    stream, gateway, admin = started(
        bench, bench.upstream(close_unanswered), drain_timeout="1s")
    stream.add(body=b"{}", idempotency_key="k")
    message, = wait_for_listed(admin, 1)
    stream.redis.kill()
    gateway.wait_for_log("source_stands", reason="broker")
    with http.Client(admin.address) as client:
        client.send(http.build("POST", f"/messages/{message['id']}/drop",
                               (), b"{}", admin.host))
        eventually(lambda: admin.get("/messages/" + message["id"])["state"]
                   == "in-flight", "it is being acknowledged")
        gateway.signal(signal.SIGTERM)
        equal(gateway.wait(), 0)
    stream.redis.restart()
    equal(len(stream.pending()), 1)


def act(admin, name, word, note="n"):
    return admin.post(f"/sources/{name}/{word}", {"note": note})


def standing(admin):
    shown, = admin.get("/sources")["sources"]
    return shown["standing"]


@test
def a_paused_source_executes_nothing_until_it_is_resumed(bench):
    upstream = bench.upstream()
    stream, gateway, admin = started(bench, upstream)
    got = act(admin, "charges", "pause", "the ledger is being counted")
    equal((got.status, got.json()["paused"]["note"]),
          (200, "the ledger is being counted"))
    paused = gateway.wait_for_log("source_paused", source="charges")
    equal(paused["note"], "the ledger is being counted")
    gateway.wait_for_log("operator_source", act="pause",
                         note="the ledger is being counted")
    shown, = admin.get("/sources")["sources"]
    equal((shown["standing"], shown["paused"]),
          ("operator", got.json()["paused"]))
    for n in range(3):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    equal(gateway.ask("other").status, 201)
    equal(upstream.count(), 1)
    got = act(admin, "charges", "resume")
    equal((got.status, got.json()),
          (200, {"name": "charges", "paused": None}))
    gateway.wait_for_log("source_resumed", source="charges")
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 3, "all are executed")
    equal((standing(admin), stream.pending()), (None, []))


@test
def what_is_in_flight_at_a_pause_is_finished(bench):
    upstream = bench.upstream()
    stream, gateway, admin = started(bench, upstream)
    hold = upstream.hold()
    stream.add(body=b"{}", idempotency_key="k")
    hold.wait_arrived()
    equal(act(admin, "charges", "pause").status, 200)
    gateway.wait_for_log("source_paused")
    hold.release()
    gateway.wait_for_log("message", outcome="executed")
    equal(stream.pending(), [])


@test
def a_pause_outlives_the_gateway(bench):
    upstream = bench.upstream()
    stream, gateway, admin = started(bench, upstream)
    equal(act(admin, "charges", "pause").status, 200)
    gateway.kill()
    stream.add(body=b"{}", idempotency_key="k")
    second = bench.serve(gateway.config)
    second.wait_for_log("source_paused", source="charges")
    equal(standing(Admin(second)), "operator")
    equal(upstream.count(), 0)
    equal(act(Admin(second), "charges", "resume").status, 200)
    second.wait_for_log("message", outcome="executed")


@test
def a_pause_holds_for_all_gateways(bench):
    upstream = bench.upstream()
    stream, gateway, admin = started(bench, upstream)
    other = bench.serve({**gateway.config, "instance": "other"})
    equal(act(admin, "charges", "pause").status, 200)
    for each_of_them in (gateway, other):
        each_of_them.wait_for_log("source_paused", source="charges")
    equal(act(Admin(other), "charges", "resume").status, 200)
    gateway.wait_for_log("source_resumed", source="charges")


@test
def held_messages_stay_held_and_can_be_dropped_in_a_pause(bench):
    stream, gateway, admin = started(
        bench, bench.upstream(close_unanswered))
    stream.add(body=b"{}", idempotency_key="k")
    message, = wait_for_listed(admin, 1)
    equal(act(admin, "charges", "pause").status, 200)
    gateway.wait_for_log("source_paused")
    got = admin.send("DELETE", "/keys/" + message["key_id"])
    equal(got.status, 200)
    equal(listed(admin)[0]["state"], "held")
    equal(admin.post(f"/messages/{message['id']}/drop").status, 200)
    equal(stream.pending(), [])


@test
def a_source_that_cannot_ask_whether_it_is_paused_reads_nothing(bench):
    upstream = bench.upstream()
    store = bench.own_redis()
    stream, gateway, admin = started(bench, upstream, redis=store)
    equal(act(admin, "charges", "pause").status, 200)
    gateway.kill()
    store.kill()
    stream.add(body=b"{}", idempotency_key="k")
    second = bench.serve(gateway.config)
    second.wait_for_log("source_stands", reason="store")
    equal(standing(Admin(second)), "store")
    equal(upstream.count(), 0)
    store.restart()
    second.wait_for_log("source_goes", reason="store")


@test
def what_is_not_paused_cannot_be_resumed(bench):
    stream, gateway, admin = started(bench, bench.upstream())
    got = act(admin, "charges", "resume")
    equal((got.status, got.problem), (409, "conflict"))
    for word in ("pause", "resume"):
        got = act(admin, "nobody", word)
        equal((got.status, got.problem), (404, "not-found"))


NONSENSE = (
    ("GET", "/messages/" + id_of(b"1-1"), 404),
    ("GET", "/messages/" + id_of(b"1-1", "nobody"), 404),
    ("GET", "/messages/!", 404),
    ("GET", "/messages/AAAA/x", 404),
    ("POST", "/messages/" + id_of(b"1-1") + "/drop", 404),
    ("GET", "/messages/" + id_of(b"1-1") + "/drop", 405),
    ("POST", "/messages", 405),
    ("POST", "/sources", 405),
    ("GET", "/sources/charges/pause", 405),
    ("POST", "/sources/charges/stop", 404),
    ("POST", "/sources/charges/pause?x=1", 400),
    ("GET", "/messages?source=nobody", 404),
    ("GET", "/messages?state=COMPLETED", 400),
    ("GET", "/messages?limit=0", 400),
    ("GET", "/messages?cursor=x", 400),
    ("GET", "/messages?other=1", 400),
    ("GET", "/sources?x=1", 400))


@test
def what_is_not_there_or_makes_no_sense_is_a_problem(bench):
    stream, gateway, admin = started(bench, bench.upstream())
    eventually(lambda: admin.get("/sources")["sources"][0]["broker_up"],
               "the broker is there to ask")
    for method, target, status in NONSENSE:
        got = admin.send(method, target)
        equal((target, got.status), (target, status))
        equal(got.get("Content-Type"), "application/problem+json")


tap.main()
