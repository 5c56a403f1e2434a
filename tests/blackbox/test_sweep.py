# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 14: what is unknown is asked about without a client, by
whichever gateway, one at a time, and hardly where nobody answers."""

import base64
import queue
import signal

from once import tap
from once.admin import Admin
from once.gateway import write
from once.tap import each, equal, test
from once.upstream import Hold, answer, close_unanswered, then_close
from once.wait import PATIENCE, eventually

BY_KEY = "/v1/charges/by-key/"
KEY = {"id": "k1", "key": base64.b64encode(b"k" * 32).decode()}
OTHER = {"id": "k2", "key": base64.b64encode(b"l" * 32).decode()}
ADMIN = {"listen": "127.0.0.1:0"}


def asking(headers=None, **more):
    return {"on_unknown": {"reconcile": {
        "path": BY_KEY + "{key}", "settle": "0s", "absent": [404],
        "headers": headers or {"Authorization": "Bearer own"},
        "keys_unique": True, **more}}}


def configured(bench, upstream, idempotency=None, store=None, **more):
    return bench.config(
        upstream, idempotency or asking(), admin=ADMIN,
        store={"encryption_keys": [KEY], **(store or {})}, **more)


def gateway_of(bench, *args, **more):
    return bench.serve(configured(bench, *args, **more))


def begin(bench, *args, **more):
    """The upstream executes, and says nothing; nor does it answer questions."""
    upstream = bench.upstream(then_close(b""))
    return upstream, gateway_of(bench, upstream, *args, **more)


def fail(gateway, key="k", **more):
    got = gateway.ask(key, **more)
    equal(got.problem, "outcome-unknown")
    return got.json()["instance"].rsplit(":", 1)[-1]


def asked(upstream):
    """The questions about any key."""
    return [r for r in upstream.requests if r.method == "GET"]


def wait_state(gateway, key_id, state):
    """Nobody retries."""
    admin = Admin(gateway)

    def has():
        got = admin.get(f"/keys/{key_id}")
        return got.get("state") == state and got
    return eventually(has, f"the record is {state}")


def questions(gateway, by, word):
    text = Admin(gateway).send("GET", "/metrics").body.decode()
    name = f'onceproxy_asked_total{{route="charges",by="{by}",' \
           f'answer="{word}"}} '
    return sum(int(line[len(name):]) for line in text.splitlines()
               if line.startswith(name))


def reload(gateway, config):
    """Returns how much it had logged before."""
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded", since)
    return since


def nothing_is_asked(gateway, key_id, since):
    line = gateway.wait_for_log("asked", since, key_id=key_id)
    equal((line["answer"], line["detail"]),
          ("unknown", "there is no question to ask"))


@each([("a short one", "7"), ("a long one", "7" * 300)])
def a_name_that_has_moved_to_another_path_asks_nothing_there(bench, account):
    """Its API may be another one: it says 404 of all."""
    old, new = bench.upstream(then_close(b"")), bench.upstream(answer(404))
    config = configured(bench, old, asking(settle="1s"))
    config["upstreams"]["new"] = new.url
    route = config["routes"][0]
    route["path"] = "/v1/{account}/charges"
    target = f"/v1/{account}/charges"
    gateway = bench.serve(config)
    key_id = fail(gateway, target=target)
    config["routes"] = [
        {**route, "path": "/v2/{account}/charges", "upstream": "new"},
        {**route, "name": "charges-v1"}]
    nothing_is_asked(gateway, key_id, reload(gateway, config))
    equal(gateway.ask("k", target=target).problem, "outcome-unknown")
    equal((new.count(), old.count(method="POST")), (0, 1))


@test
def a_ledger_that_has_moved_is_asked_where_it_is(bench):
    """The path of before says 404 of all; a retry brings the new one, and by
    that it is asked about without one, too."""
    upstream = bench.upstream(then_close(b""))
    config = configured(bench, upstream, asking(path="/v1/{key}", settle="2s"))
    gateway = bench.serve(config)
    upstream.replies["/v1/k"] = answer(404)
    key_id = fail(gateway)
    config["routes"][0]["idempotency"] = asking(path="/v2/{key}", settle="2s")
    nothing_is_asked(gateway, key_id, reload(gateway, config))
    equal(gateway.ask("k").problem, "outcome-unknown")
    upstream.replies["/v2/k"] = answer(201, b"it happened")
    wait_state(gateway, key_id, "COMPLETED")
    equal({r.target for r in asked(upstream)}, {"/v2/k"})
    equal(upstream.count(method="POST"), 1)


@test
def an_attempt_under_a_new_file_is_asked_about_as_that_says(bench):
    upstream = bench.upstream(then_close(b""))
    config = configured(bench, upstream, asking(path="/v1/{key}", settle="2s"))
    gateway = bench.serve(config)
    key_id = fail(gateway)
    config["routes"][0]["idempotency"] = asking(path="/v2/{key}", settle="0s")
    since = reload(gateway, config)
    upstream.replies["/v2/k"] = answer(404)
    eventually(lambda: gateway.ask("k").status == 502, "it is sent again")
    upstream.replies["/v2/k"] = answer(201, b"it happened")
    gateway.wait_for_log("asked", since, key_id=key_id, attempt=2)
    equal({r.target for r in asked(upstream)}, {"/v2/k"})


@test
def a_tenant_that_moves_into_the_path_is_not_left_out(bench):
    """Else the platform's own token asks of any merchant."""
    upstream = bench.upstream(then_close(b""))
    upstream.replies["/v1/by-key/k"] = answer(201, b"somebody else's")
    scope = {"scope": [{"basic": "user"}]}
    own = {"Authorization": "Bearer own"}
    config = configured(bench, upstream, scope | asking(
        {**own, "X-Merchant": "{scope:0}"}, path="/v1/by-key/{key}",
        settle="2s", keys_unique=False))
    gateway = bench.serve(config)
    bert = "Basic " + base64.b64encode(b"bert:secret").decode()
    key_id = fail(gateway, tenant=bert)
    config["routes"][0]["idempotency"] = scope | asking(
        own, path="/v1/{scope:0}/by-key/{key}", settle="2s",
        keys_unique=False)
    nothing_is_asked(gateway, key_id, reload(gateway, config))
    equal(gateway.ask("k", tenant=bert).problem, "outcome-unknown")
    equal(asked(upstream), [])


@test
def what_was_never_asked_is_told_as_none(bench):
    """A first one is an increase then."""
    upstream, gateway = begin(bench)
    text = Admin(gateway).send("GET", "/metrics").body.decode()
    for by in ("request", "sweep", "operator"):
        for word in ("happened", "did-not", "unknown", "away"):
            line = 'onceproxy_asked_total{route="charges",' \
                   f'by="{by}",answer="{word}"}} 0'
            assert line in text.splitlines(), line


@test
def what_happened_is_found_without_a_client(bench):
    upstream, gateway = begin(bench)
    upstream.replies[BY_KEY + "k"] = answer(201, b"it happened")
    key_id = fail(gateway)
    record = wait_state(gateway, key_id, "COMPLETED")
    [question] = asked(upstream)
    equal(question.all("Authorization"), ["Bearer own"])
    equal(upstream.count(method="POST"), 1)
    [act] = record["history"]
    equal((act["act"], act["note"], act["who"]), ("ask", "happened", "sweep"))
    again = gateway.ask("k")
    equal((again.status, again.body, again.replayed),
          (201, b"it happened", True))
    line = gateway.wait_for_log("asked", by="sweep", answer="happened")
    equal(line["key_id"], key_id)
    equal(questions(gateway, "sweep", "happened"), 1)


@test
def what_did_not_happen_is_free_for_the_next_retry(bench):
    upstream, gateway = begin(bench)
    upstream.replies[BY_KEY + "k"] = answer(404)
    fail(gateway)
    gateway.wait_for_log("asked", by="sweep", answer="did-not")
    upstream.reply = answer()
    again = eventually(lambda: (got := gateway.ask("k")).status == 201 and got,
                       "the key is free")
    equal(again.replayed, False)
    equal([r.get("Idempotency-Attempt") for r in upstream.requests
           if r.method == "POST"], ["1", "2"])
    equal(len(asked(upstream)), 1)


@test
def a_retry_does_not_ask_with_the_clients_credentials(bench):
    """The headers are the gateway's, whoever has it asked."""
    upstream, gateway = begin(bench)
    fail(gateway, tenant="Bearer the-clients")
    eventually(lambda: asked(upstream))
    upstream.replies[BY_KEY + "k"] = answer(201, b"it happened")
    eventually(lambda: gateway.ask(
        "k", tenant="Bearer the-clients").status == 201)
    equal({v for r in asked(upstream) for v in r.all("Authorization")},
          {"Bearer own"})


@test
def what_is_asked_rests_sealed_in_the_record(bench):
    """Another gateway asks, that never saw the request."""
    upstream = bench.upstream(then_close(b""))
    settings = {"idempotency": asking(
        path="/v1/find?order={json:/order}", settle="3s")}
    first = gateway_of(bench, upstream, **settings)
    key_id = fail(first, body=b'{"order":"o-1234 5"}')
    first.stop()
    for name in bench.redis.keys():
        if name.endswith(key_id.encode()):
            assert b"o-1234" not in bench.redis("GET", name)
            assert b" asks=" in bench.redis("GET", name)
    upstream.replies["/v1/find"] = answer(200, b"it happened")
    second = gateway_of(bench, upstream, **settings)
    wait_state(second, key_id, "COMPLETED")
    equal([r.target for r in asked(upstream)],
          ["/v1/find?order=o-1234%205"])


@test
def a_question_that_cannot_be_read_is_not_asked(bench):
    """The first gateway is gone, and so is its key: a client may come."""
    upstream = bench.upstream(then_close(b""))
    idempotency = asking(settle="2s")
    first = gateway_of(bench, upstream, idempotency)
    key_id = fail(first)
    first.stop()
    second = gateway_of(bench, upstream, idempotency,
                        store={"encryption_keys": [OTHER]})
    second.wait_for_log("asked", by="sweep", answer="unknown")
    equal(asked(upstream), [])
    wait_state(second, key_id, "UNKNOWN")


@test
def a_reload_that_brings_headers_brings_no_keys(bench):
    """What cannot be sealed rests nowhere, and a client may come."""
    upstream = bench.upstream(then_close(b""))
    gateway = bench.serve(bench.config(upstream, admin=ADMIN))
    write(gateway.file, configured(bench, upstream, state_dir=bench.folder()))
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    fail(gateway)
    upstream.replies[BY_KEY + "k"] = answer(201, b"it happened")
    equal(gateway.ask("k").body, b"it happened")


@test
def what_has_no_question_waits_for_who_needs_none(bench):
    """Another gateway's file may have a witness: it stays on the list."""
    upstream = bench.upstream(then_close(b""))
    first = bench.serve(bench.config(upstream))
    key_id = fail(first)
    [due] = [n for n in bench.redis.keys() if n.endswith(b"asking:charges")]
    before = float(bench.redis("ZSCORE", due, key_id))
    gateway_of(bench, upstream)
    eventually(lambda: float(bench.redis("ZSCORE", due, key_id) or 0) >
               before + 590000, "it is put off, and not forgotten")
    equal(asked(upstream), [])


@test
def the_tenants_values_stand_in_the_question(bench):
    upstream, gateway = begin(bench, asking(
        {"Authorization": "Bearer own", "X-Tenant": "{scope:0}"},
        path="/v1/{scope:0}/by-key/{key}", keys_unique=False) | {
            "scope": [{"basic": "user"}]})
    for user in ("anna", "bert"):
        upstream.replies[f"/v1/{user}/by-key/k"] = answer(
            201, user.encode())
    basic = {user: "Basic " + base64.b64encode(
        f"{user}:secret".encode()).decode() for user in ("anna", "bert")}
    for user in basic:
        wait_state(gateway, fail(gateway, tenant=basic[user]), "COMPLETED")
        equal(gateway.ask("k", tenant=basic[user]).body, user.encode())
    equal([(r.target, r.get("X-Tenant")) for r in asked(upstream)],
          [(f"/v1/{user}/by-key/k", user) for user in basic])


@test
def a_gateway_that_was_killed_leaves_nothing_unasked(bench):
    upstream = bench.upstream()
    hold = upstream.hold()
    idempotency = {**asking(), "lease": "1s"}
    first = gateway_of(bench, upstream, idempotency)
    bench.background(first.ask, "k")
    hold.wait_arrived()
    first.stop(signal.SIGKILL, -signal.SIGKILL)
    upstream.replies[BY_KEY + "k"] = answer(201, b"it happened")
    second = gateway_of(bench, upstream, idempotency)
    second.wait_for_log("asked", by="sweep", answer="happened")
    equal(second.ask("k").body, b"it happened")
    equal(upstream.count(method="POST"), 1)


@test
def it_is_not_asked_before_it_has_settled(bench):
    upstream, gateway = begin(bench, asking(settle="2s"))
    upstream.replies[BY_KEY + "k"] = answer(201, b"it happened")
    key_id = fail(gateway)
    record = wait_state(gateway, key_id, "COMPLETED")
    unknown = gateway.wait_for_log("outcome_unknown")
    came = gateway.wait_for_log("asked")
    assert when(came) - when(unknown) > 1.9, (unknown, came)
    equal(len(record["history"]), 1)


def when(line):
    hours, minutes, seconds = line["ts"].split("T")[1].rstrip("Z").split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


@test
def two_gateways_ask_once(bench):
    upstream = bench.upstream(then_close(b""))
    gateways = [gateway_of(bench, upstream) for _ in range(2)]
    hold = upstream.hold(answer(201, b"it happened"))
    upstream.replies[BY_KEY + "k"], upstream.reply = \
        upstream.reply, then_close(b"")
    key_id = fail(gateways[0])
    hold.wait_arrived()
    equal(gateways[1].ask("k").problem, "in-flight")
    hold.release()
    wait_state(gateways[1], key_id, "COMPLETED")
    equal(len(asked(upstream)), 1)


@test
def an_outcome_that_waits_in_the_journal_is_not_asked_about(bench):
    """This process knows it better than the API."""
    redis = bench.own_redis()
    upstream = bench.upstream()
    hold = upstream.hold(answer(201, b"its own"))
    gateway = gateway_of(
        bench, upstream, {**asking(), "lease": "1s"}, redis=redis)
    got = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    redis("CLIENT", "PAUSE", "3000", "WRITE")
    hold.release()
    got.result()
    eventually(lambda: gateway.ask("k").body == b"its own")
    equal(asked(upstream), [])


# --- many at once ---


@test
def routes_take_turns_and_no_more_is_asked_than_was_allowed(bench):
    """An API takes long for one route's questions; the other's one is asked
    before many of them have their turn."""
    questions = queue.Queue()
    open_ones, most = set(), []

    def serve(connection, request):
        if request.method == "POST":
            close_unanswered(connection, request)
            return
        hold = Hold()
        open_ones.add(hold)
        most.append(len(open_ones))
        questions.put((request.target, hold))
        hold.wait()
        open_ones.remove(hold)
        connection.send(answer(201, b"it happened"))

    upstream = bench.upstream(serve)
    config = configured(bench, upstream, asking(path="/slow/{key}"),
                        limits={"probes": 2})
    config["routes"].insert(1, {
        **config["routes"][0], "name": "refunds", "path": "/v1/refunds",
        "idempotency": asking(path="/other/{key}")})
    gateway = bench.serve(config)
    for number in range(20):
        fail(gateway, f"k{number}")
    fail(gateway, "k", target="/v1/refunds")
    order = []
    for _ in range(21):
        target, hold = questions.get(timeout=PATIENCE)
        order.append(target)
        hold.release()
    assert order.index("/other/k") < 10, order
    equal(max(most), 2)


# --- an API that is away ---


@test
def an_api_that_is_away_is_asked_hardly(bench):
    """Three hundred records, and as many questions as seconds: the first
    sixteen, and then one after one, two, four seconds."""
    upstream, gateway = begin(bench, {**asking(), "lease": "10s"})
    for i in range(300):
        fail(gateway, f"k{i}")
    for _ in range(3):
        seen = len(gateway.find_log("asked"))
        eventually(lambda: len(gateway.find_log("asked")) > seen)
    lines = gateway.find_log("asked")
    equal({line["answer"] for line in lines}, {"away"})
    seconds = when(lines[-1]) - when(lines[0])
    assert len(lines) <= 16 + seconds + 1, (len(lines), seconds)
    # It is back, and hears of all.
    upstream.reply = answer(201, b"it happened")
    eventually(lambda: questions(gateway, "sweep", "happened") == 300)
    equal(upstream.count(method="POST"), 300)


tap.main()
