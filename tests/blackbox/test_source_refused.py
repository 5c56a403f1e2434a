# SPDX-License-Identifier: BSD-2-Clause
"""An API that refuses one message after the other is not the messages' fault:
the source stands, says why, tries one at a time, and goes on by itself."""

from once import tap
from once.admin import Admin
from once.messages import Beside, Stream, source
from once.tap import each, equal, test
from once.upstream import Hold, answer
from once.wait import eventually

RETRY = {"retry": {"first": "20ms", "most": "50ms", "attempts": 5}}
FIVE = 5


class Api:
    """Refuses what it is told to refuse."""

    def __init__(self, bench, reply):
        self.reply, self.refuses = reply, lambda request: True
        self.executed, self.asked = [], []
        self.upstream = bench.upstream(self.serve)

    def serve(self, connection, request):
        key = request.get("Idempotency-Key")
        self.asked.append(key)
        if self.refuses(request):
            connection.send(self.reply)
            return
        self.executed.append(key)
        connection.send(answer(201))


def began(bench, reply, idempotency=None, **members):
    api = Api(bench, reply)
    stream = Stream(bench.own_redis())
    config = bench.config(
        api.upstream, idempotency, admin={"listen": "127.0.0.1:0"})
    source(config, stream, **{**RETRY, **members})
    return api, stream, bench.serve(config)


def standing(gateway):
    return Admin(gateway).get("/sources")["sources"][0]["standing"]


REFUSALS = [
    ("503", answer(503), "upstream"),
    ("429", answer(429, fields=[("Retry-After", "1")]), "upstream"),
    ("401", answer(401), "token"),
    ("403", answer(403), "token"),
    ("a redirect", answer(301, fields=[("Location", "https://api/v1/")]),
     "redirected"),
    ("502, which leaves outcomes unknown", answer(502), "upstream"),
]


@each(REFUSALS)
def an_outage_stands_the_source_and_makes_no_dead_letter(
        bench, reply, reason):
    api, stream, gateway = began(bench, reply, {"on_unknown": "retry"})
    for n in range(20):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_for_log("source_stands", reason=reason)
    equal(standing(gateway), reason)
    asked = len(api.asked)
    # One at a time tries again.
    gateway.wait_until(lambda: len(api.asked) > asked, "a probe")
    equal((api.executed, gateway.find_log("message")), ([], []))
    api.refuses = lambda request: False
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 20, "all are executed")
    equal(sorted(api.executed), sorted(f"k{n}" for n in range(20)))
    equal(len(gateway.find_log("source_stands")), 1)
    equal((standing(gateway), stream.pending()), (None, []))
    equal(stream.entries("charges:dead"), [])


@test
def hundreds_of_redirects_lose_nothing(bench):
    api, stream, gateway = began(
        bench, answer(301, fields=[("Location", "https://api/v1/")]))
    for n in range(500):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_for_log("source_stands", reason="redirected")
    asked = len(api.asked)
    gateway.wait_until(lambda: len(api.asked) > asked, "a probe")
    equal((standing(gateway), len(stream.pending())), ("redirected", 500))
    equal(gateway.find_log("message"), [])
    api.refuses = lambda request: False
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 500, "all are executed")
    equal(sorted(api.executed), sorted(f"k{n}" for n in range(500)))
    eventually(lambda: stream.pending() == [], "all are acknowledged")
    equal(stream.entries("charges:dead"), [])


@test
def one_message_alone_that_is_refused_again_and_again_stands_the_source(bench):
    api, stream, gateway = began(bench, answer(503))
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("source_stands", reason="upstream")
    assert len(api.asked) >= FIVE, api.asked
    equal(gateway.find_log("message"), [])
    api.refuses = lambda request: False
    gateway.wait_for_log("message", outcome="executed")


class Mix(Api):
    """Keys that begin with h have no outcome known, with b are refused."""

    def serve(self, connection, request):
        key = request.get("Idempotency-Key")
        self.asked.append(key)
        said = 502 if key[0] == "h" else 503 if key[0] == "b" else 201
        connection.send(answer(said))


def mixed(bench, *keys, **members):
    api, stream = Mix(bench, None), Stream(bench.own_redis())
    config = bench.config(api.upstream, admin={"listen": "127.0.0.1:0"})
    source(config, stream, **{**RETRY, **members})
    for key in keys:
        stream.add(body=b"{}", idempotency_key=key)
    return api, stream, bench.serve(config)


@test
def what_is_held_proves_no_api_well(bench):
    _, stream, gateway = mixed(bench, "b")
    gateway.wait_for_log("source_stands", reason="upstream")
    stream.add(body=b"{}", idempotency_key="h")
    gateway.wait_for_log("message_held")
    equal(gateway.find_log("source_goes"), [])
    stream.add(body=b"{}", idempotency_key="good")  # which is tried in turn
    gateway.wait_for_log("message", outcome="executed")
    gateway.wait_for_log("source_goes")
    equal(len(gateway.find_log("source_stands")), 1)
    equal(stream.entries("charges:dead"), [])


@test
def others_are_tried_however_many_wait(bench):
    _, stream, gateway = mixed(bench, "b1")
    gateway.wait_for_log("source_stands", reason="upstream")
    stream.add(body=b"{}", idempotency_key="b2")
    eventually(lambda: len(stream.pending()) == 2, "it is taken, too")
    stream.add(body=b"{}", idempotency_key="good")
    gateway.wait_for_log("message", outcome="executed")


@test
def what_is_decided_ends_though_its_source_stands(bench):
    _, stream, gateway = mixed(bench, *(f"h{n}" for n in range(8)), "b")
    gateway.wait_for_log("source_stands", reason="upstream")
    held = [e["key_id"] for e in gateway.find_log("message_held")]
    equal(len(held), 8)
    for key_id in held:
        Admin(gateway).act(key_id, "complete", {
            "status": 201, "headers": {}, "body": "{}"})
    gateway.wait_until(lambda: len(gateway.find_log("message")) == 8, "all")
    equal(standing(gateway), "upstream")
    eventually(lambda: len(stream.pending()) == 1, "all are acknowledged")


@test
def no_more_than_in_flight_go_on_when_a_pause_is_over(bench):
    api, _, gateway = mixed(bench, *(f"b{n}" for n in range(12)), in_flight=2,
                            retry={"first": "1s", "attempts": 9})
    gateway.wait_for_log("source_stands", reason="upstream")
    admin, hold = Admin(gateway), Hold()

    def source_has(name):
        return admin.get("/sources")["sources"][0][name]
    gateway.wait_until(lambda: source_has("retrying") >= FIVE, "five rest")
    equal(admin.post("/sources/charges/pause").status, 200)
    gateway.wait_for_log("source_paused")

    since = api.upstream.count()

    def serve(connection, _):
        if api.upstream.count() > since + 1:
            hold.wait()
        connection.send(answer(201))
    api.upstream.reply = serve
    equal(admin.post("/sources/charges/resume").status, 200)
    # The first one that is executed lets all others go.
    gateway.wait_for_log("source_goes", reason="upstream")
    hold.wait_arrived()
    gateway.wait_until(lambda: source_has("in_flight") == 2 and
                       api.upstream.count() == since + 3, "two are there")
    hold.release()
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 12, "all are executed")


@test
def so_does_a_letter_alone_that_is_replayed(bench):
    """It tries as seldom, and the source does not go in between."""
    api, stream, gateway = began(bench, answer(402))
    stream.add(body=b"{}", idempotency_key="k")
    key_id = gateway.wait_for_log("message", reason="refused")["key_id"]
    api.reply = answer(503)
    admin = Admin(gateway)
    [letter] = admin.get("/messages?source=charges&state=dead")["messages"]
    equal(admin.send("DELETE", f"/keys/{key_id}").status, 200)
    equal(admin.post(f"/messages/{letter['id']}/replay").status, 202)
    gateway.wait_for_log("source_stands", reason="upstream")
    asked = len(api.asked)
    gateway.wait_until(lambda: len(api.asked) > asked, "a probe")
    api.refuses = lambda request: False
    gateway.wait_for_log("message", outcome="executed")
    equal([len(gateway.find_log(event)) for event in
           ("source_stands", "source_goes")], [1, 1])


@test
def what_comes_behind_one_that_is_refused_is_executed(bench):
    api, stream, gateway = began(bench, answer(503))
    api.refuses = lambda request: request.get("Idempotency-Key") == "bad"
    stream.add(body=b"{}", idempotency_key="bad")
    said = gateway.wait_for_log("source_stands", reason="upstream")
    equal(said["error"], "The upstream answers 503 to a message again and "
          "again.")
    for n in range(5):
        stream.add(body=b"{}", idempotency_key=f"good{n}")
    gateway.wait_until(lambda: len(gateway.find_log(
        "message", outcome="executed")) == 5, "the others are executed")
    equal(len(stream.pending()), 1)


@test
def attempts_count_only_where_another_message_was_executed_since(bench):
    api, stream, gateway = began(
        bench, answer(503), retry={**RETRY["retry"], "attempts": 2})
    api.refuses = lambda request: (request.get("Idempotency-Key") == "bad" and
                                   len(api.asked) < FIVE)
    stream.add(body=b"{}", idempotency_key="bad")
    said = gateway.wait_for_log("message")
    equal((said["outcome"], len(api.asked)), ("executed", FIVE))


@test
def one_that_is_refused_while_others_succeed_is_dead_after_its_attempts(bench):
    api, stream, gateway = began(bench, answer(503))
    beside = Beside(stream)

    def refuses(request):
        is_bad = request.get("Idempotency-Key") == "bad"
        if is_bad:
            beside.execute()
        return is_bad
    api.refuses = refuses
    stream.add(body=b"{}", idempotency_key="bad")
    gateway.wait_for_log("message", outcome="exhausted")
    equal(gateway.find_log("source_stands"), [])
    # The first does not count: no other was executed since it was taken.
    equal(api.asked.count("bad"), 6)
    letter, = stream.entries("charges:dead")
    equal((letter["onceproxy-reason"], letter["onceproxy-status"]),
          (b"exhausted", b"503"))


@test
def a_stored_redirect_is_refused_and_not_executed(bench):
    """302 is an answer, and nobody follows it."""
    api, stream, gateway = began(
        bench, answer(302, fields=[("Location", "/elsewhere")]))
    stream.add(body=b"{}", idempotency_key="k")
    line = gateway.wait_for_log("message")
    equal((line["outcome"], line["reason"], line["status"]),
          ("refused", "refused", 302))


@test
def see_other_is_success(bench):
    api, stream, gateway = began(
        bench, answer(303, fields=[("Location", "/v1/charges/1")]))
    stream.add(body=b"{}", idempotency_key="k")
    equal(gateway.wait_for_log("message")["outcome"], "executed")


@test
def a_result_says_how_its_body_is_coded(bench):
    api, stream, gateway = began(
        bench, answer(201, b"\x1f\x8b...", fields=[
            ("Content-Encoding", "gzip"),
            ("Content-Type", "application/json")]),
        results={"stream": "done"})
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="executed")
    result, = stream.entries("done")
    equal((result["content-encoding"], result["body"]),
          (b"gzip", b"\x1f\x8b..."))


@test
def beyond_keep_dead_the_source_stands_before_it_acknowledges(bench):
    api, stream, gateway = began(bench, answer(422), keep_dead=2)
    admin = Admin(gateway)
    for n in range(3):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    gateway.wait_for_log("source_stands", reason="dead-letters")
    equal(standing(gateway), "dead-letters")
    eventually(lambda: len(stream.entries("charges:dead")) == 2, "two copies")
    equal(len(stream.pending()), 1)
    one, _ = admin.get("/messages?source=charges&state=dead")["messages"]
    equal(admin.post(f"/messages/{one['id']}/drop").status, 200)
    gateway.wait_for_log("source_goes", reason="dead-letters")
    eventually(lambda: stream.pending() == [], "the third one is a letter")
    equal(len(admin.get("/messages?source=charges&state=dead")["messages"]), 2)


tap.main()
