# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 12 and 13: webhooks, at least once, signed, in the order
of each record."""

import collections
import json
import re
import signal
import time

from once import tap
from once.admin import Admin
from once.gateway import command, write
from once.tap import each, equal, test
from once.certificates import Authority
from once.relays import NAMES
from once.upstream import Hold, answer, close_unanswered
from once.wait import eventually
from once.webhooks import Receiver, TAKEN, hmac_of, nothing_is_kept, secret

PAID = ["NONE>PROCESSING 1", "PROCESSING>COMPLETED 1 201"]


def begin(bench, reply=TAKEN, api=None, redis=None, **members):
    """A receiver, and the configuration of a gateway that has it."""
    receiver = Receiver(reply)
    bench.upstreams.append(receiver)
    made = bench.config(bench.upstream(api), redis=redis)
    made["store"]["shards"] = 4
    made["admin"] = {"listen": "127.0.0.1:0"}
    receiver.relay(made, **members)
    return receiver, made


def pay(gateway, *keys, status=201):
    for key in keys:
        equal(gateway.ask(key).status, status)


@test
def each_change_is_posted_once_and_signed(bench):
    receiver, config = begin(bench, redis=(wire := bench.wire()))
    said = iter([b"?"])  # at first, in place of "=" before a body
    wire.edit = lambda data: re.sub(
        rb'(?<=\n)=(?={"id)', lambda _: next(said, b"="), data)
    gateway = bench.serve(config)
    pay(gateway, "a", "b", "c")
    receiver.wait_for_events(6)
    equal(list(receiver.stories().values()), [PAID] * 3)
    nothing_is_kept(bench.redis)
    equal((len(receiver.requests), list(said)), (6, []))
    for request in receiver.requests:
        equal((request.method, request.target, request.get("Content-Type"),
               request.get("Host")),
              ("POST", "/hook?from=once", "application/json",
               receiver.address))
        assert abs(time.time() - int(request.get("webhook-timestamp"))) < 60
    event = receiver.events()[1]
    equal(list(event), NAMES)
    equal(event["answer"], None)


@test
def the_stored_answer_comes_with_it(bench):
    receiver, config = begin(bench, answer=True)
    pay(bench.serve(config), "a")
    receiver.wait_for_events(2)
    claimed, done = receiver.events()
    equal(claimed["answer"], None)
    equal((done["answer"]["status"], done["answer"]["body"]),
          (201, '{"id":"ch_1"}'))


@test
def a_try_has_the_same_id_and_body_and_a_new_signature(bench):
    replies = [answer(500), answer(503), answer(301), TAKEN]
    receiver, config = begin(
        bench, lambda connection, request: connection.send(
            replies.pop(0) if len(replies) > 1 else replies[0]),
        states=["COMPLETED"])
    pay(bench.serve(config), "a")
    receiver.wait_for(4)
    tries = receiver.requests
    equal(len({r.get("webhook-id") for r in tries}), 1)
    equal(len({r.body for r in tries}), 1)
    equal(len({r.get("webhook-timestamp") for r in tries}), 4)
    equal(len({r.get("webhook-signature") for r in tries}), 4)
    receiver.events()
    nothing_is_kept(bench.redis)
    equal(len(receiver.requests), 4)


@test
def all_secrets_sign_during_a_rotation(bench):
    receiver, config = begin(bench, states=["COMPLETED"])
    old = secret(24)
    seed = "whsk_" + "VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk="
    config["relays"]["hooks"]["secrets"] = [receiver.secret, old, seed]
    pay(bench.serve(config), "a")
    receiver.wait_for(1)
    request, = receiver.requests
    first, second, third = request.get("webhook-signature").split(" ")
    equal([first, second], [hmac_of(receiver.secret, request),
                            hmac_of(old, request)])
    assert third.startswith("v1a,"), third


@test
def what_is_not_taken_holds_up_its_record_and_no_other(bench):
    """The first key's events fail; those of others go past it, its own wait."""
    stuck = []

    def reply(connection, request):
        event = json.loads(request.body)
        if not stuck:
            stuck.append(event["key_id"])
        connection.send(answer(500) if stuck[0] == event["key_id"]
                        and len(stuck) == 1 else TAKEN)
    receiver, config = begin(bench, reply)
    gateway = bench.serve(config)
    pay(gateway, "stuck")
    receiver.wait_for(1)
    pay(gateway, *[f"k{n}" for n in range(10)])
    receiver.wait_for_events(1 + 20)
    equal([e["to"] for e in receiver.events() if e["key_id"] == stuck[0]
           ].count("COMPLETED"), 0)
    stuck.append("over")
    receiver.wait_for_events(2 + 20)
    story = [e["to"] for e in receiver.events() if e["key_id"] == stuck[0]]
    equal(story[-1], "COMPLETED")
    equal(set(story[:-1]), {"PROCESSING"})


@test
def one_that_is_slow_holds_up_no_other(bench):
    hold, slow = Hold(), []

    def reply(connection, request):
        if not slow:
            slow.append(request)
            hold.wait()
        connection.send(TAKEN)
    receiver, config = begin(bench, reply)
    gateway = bench.serve(config)
    pay(gateway, *[f"k{n}" for n in range(20)])
    # All but the other event of its record.
    receiver.wait_for_events(39)
    hold.release()
    receiver.wait_for_events(40)


@test
def a_receiver_that_never_answers_holds_up_no_other_relay(bench):
    hold = Hold()
    stuck, config = begin(
        bench, lambda connection, request: hold.wait(), states=["COMPLETED"])
    other = Receiver()
    bench.upstreams.append(other)
    other.relay(config, name="other", states=["COMPLETED"])
    config["workers"] = 1
    gateway = bench.serve(config)
    pay(gateway, *(f"k{n}" for n in range(200)))
    other.wait_for_events(200)
    equal(stuck.ids() != [], True)
    hold.release()


@test
def retry_after_is_waited_for(bench):
    times = []

    def reply(connection, request):
        times.append(time.monotonic())
        connection.send(answer(429, fields=[("Retry-After", "3")])
                        if len(times) == 1 else TAKEN)
    receiver, config = begin(bench, reply, states=["COMPLETED"])
    pay(bench.serve(config), "a")
    receiver.wait_for(2)
    assert 2.9 < times[1] - times[0] < 10, times


@test
def gone_pauses_the_relay_until_it_is_resumed(bench):
    receiver, config = begin(bench, answer(410), states=["COMPLETED"])
    gateway = bench.serve(config)
    pay(gateway, "a")
    paused = gateway.wait_for_log("relay_paused")
    assert "410" in paused["note"], paused
    pay(gateway, "b")
    equal(len(set(receiver.ids())), 1)
    receiver.reply = TAKEN
    Admin(gateway).post("/relays/hooks/resume")
    gateway.wait_for_log("relay_resumed")
    receiver.wait_for_events(2)
    nothing_is_kept(bench.redis)


@test
def operators_see_and_pause_it(bench):
    receiver, config = begin(bench)
    gateway = bench.serve(config)
    admin = Admin(gateway)
    pay(gateway, "a", "b")
    receiver.wait_for_events(4)

    def shown():
        return admin.get("/relays")["relays"][0]
    # Each is counted once, although all were kept before.
    eventually(lambda: (shown()["events"], shown()["lag"]) == (4, 0),
               "all were brought")
    equal(shown(), {
        "name": "hooks", "kind": "webhook", "receiver": receiver.address,
        "runs": True, "up": True, "lag": 0, "events": 4, "lost": 0,
        "paused": None})
    receiver.reply = answer(500)
    pay(gateway, "c")
    receiver.wait_for_events(5)
    admin.post("/relays/hooks/pause")
    gateway.wait_for_log("relay_paused")
    # What is kept is not tried either, which a new gateway would do at once.
    gateway.stop()
    receiver.reply = TAKEN
    tries = len(receiver.requests)
    gateway = bench.serve(config)
    admin = Admin(gateway)
    pay(gateway, "d")
    eventually(lambda: shown()["runs"] and shown()["lag"] == 4, "they wait")
    equal((len(receiver.requests), shown()["paused"]["note"]), (tries, ""))
    admin.post("/relays/hooks/resume")
    receiver.wait_for_events(8)
    eventually(lambda: shown()["events"] == 4, "all are counted")


@test
def nothing_is_lost_while_the_receiver_is_away(bench):
    receiver, config = begin(bench, close_unanswered)
    gateway = bench.serve(config)
    # So many that, after a while, only some are tried.
    pay(gateway, *[f"k{n}" for n in range(80)])
    down = gateway.wait_for_log("relay_down")
    assert receiver.address in down["error"], down
    receiver.wait_for_events(65)
    receiver.reply = TAKEN
    receiver.wait_for_events(160, 60)
    nothing_is_kept(bench.redis)
    for story in stories_without_repeats(receiver):
        equal(story, PAID)
    gateway.wait_for_log("relay_up")


def stories_without_repeats(receiver, since=None):
    """In the order in which each was last tried, and so taken; or, where all
    are taken since then, first tried."""
    events = {e["id"]: e for e in receiver.events()}
    ids = receiver.ids()
    order = list(dict.fromkeys(ids[since:] if since is not None
                               else reversed(ids)))
    stories = collections.defaultdict(list)
    for event_id in order if since is not None else reversed(order):
        event = events[event_id]
        told = f"{event['from']}>{event['to']} {event['attempt']}"
        if event["status"]:
            told += f" {event['status']}"
        stories[event["key_id"]].append(told)
    return stories.values()


@each([("killed", signal.SIGKILL), ("stopped", signal.SIGTERM)])
def what_was_kept_is_brought_by_the_next_gateway(bench, number):
    receiver, config = begin(bench, answer(500))
    gateway = bench.serve(config)
    pay(gateway, *[f"k{n}" for n in range(5)])
    receiver.wait_for_events(5)
    gateway.signal(number)
    gateway.wait()
    receiver.reply = TAKEN
    before = {r.get("webhook-id"): r.body for r in receiver.requests}
    since = len(receiver.requests)
    gateway = bench.serve(config)
    receiver.wait_for_events(10)
    nothing_is_kept(bench.redis)
    after = {r.get("webhook-id"): r.body for r in receiver.requests}
    equal({i: after[i] for i in before}, before)
    for story in stories_without_repeats(receiver, since):
        equal(story, PAID)


@test
def what_is_in_flight_at_the_end_is_not_sent_again(bench):
    receiver, config = begin(bench, states=["COMPLETED"])
    hold = receiver.hold()
    gateway = bench.serve(config)
    pay(gateway, "a")
    hold.wait_arrived()
    gateway.signal(signal.SIGTERM)
    gateway.wait_for_log("draining")
    hold.release()
    equal(gateway.wait(), 0)
    nothing_is_kept(bench.redis)
    gateway = bench.serve(config)
    pay(gateway, "b")
    receiver.wait_for_events(2)
    equal(len(receiver.requests), 2)


@test
def a_reload_changes_the_secret(bench):
    receiver, config = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, "a")
    receiver.wait_for_events(2)
    old, receiver.secret = receiver.secret, secret()
    config["relays"]["hooks"]["secrets"] = [receiver.secret, old]
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    pay(gateway, "b")
    receiver.wait_for_events(4)
    for request in receiver.requests[2:]:
        equal(request.get("webhook-signature").split(" "),
              [hmac_of(receiver.secret, request), hmac_of(old, request)])


@test
def a_gateway_that_was_frozen_brings_nothing_late(bench):
    receiver, config = begin(bench)
    gateways = [bench.serve({**config, "state_dir": bench.folder()})
                for _ in range(2)]
    pay(gateways[0], "a")
    receiver.wait_for_events(2)
    running, other = sorted(
        gateways, key=lambda g: not g.find_log("relay_begins"))
    running.signal(signal.SIGSTOP)
    pay(other, *[f"k{n}" for n in range(10)])
    receiver.wait_for_events(22)
    running.signal(signal.SIGCONT)
    running.wait_for_log("relay_ends")
    pay(running, "b")
    receiver.wait_for_events(24)
    nothing_is_kept(bench.redis)
    for story in stories_without_repeats(receiver, 0):
        equal(story, PAID)


@test
def the_streams_of_a_cluster_are_brought(bench):
    cluster = bench.cluster()
    receiver, config = begin(bench, redis=cluster)
    pay(bench.serve(config), *[f"k{n}" for n in range(10)])
    receiver.wait_for_events(20)
    nothing_is_kept(cluster)
    equal(list(receiver.stories().values()), [PAID] * 10)


@test
def doctor_looks_for_the_receiver(bench):
    receiver, config = begin(bench)
    gateway = bench.serve(config)

    def found():
        done = command("doctor", "-c", gateway.file, "--json")
        return [f for f in json.loads(done.stdout)["findings"]
                if f["where"] == "/relays/hooks"]
    equal(found(), [])
    equal(receiver.requests, [])
    receiver.stop()
    finding, = found()
    equal((finding["level"], finding["name"]), ("fail", "relay_receiver"))
    assert receiver.address in finding["words"], finding
    told = finding["words"] + finding["cure"]
    assert "upstream" not in told and "/hook" not in told, finding
    assert "certificate" not in told, finding


@test
def one_gateway_at_a_time_brings_them(bench):
    receiver, config = begin(bench)
    gateways = [bench.serve({**config, "state_dir": bench.folder()})
                for _ in range(2)]
    for n in range(20):
        pay(gateways[n % 2], f"k{n}")
    receiver.wait_for_events(40)
    nothing_is_kept(bench.redis)
    equal(len(receiver.requests), 40)
    running = next(g for g in gateways if g.find_log("relay_begins"))
    running.kill()
    other = next(g for g in gateways if g is not running)
    pay(other, "x", "y")
    receiver.wait_for_events(44)


@test
def a_receiver_behind_another_gateway_gets_each_once(bench):
    """Its answers are lost again and again, and the gateway that brings them
    is killed; what the receiver executes is each event, once."""
    books = bench.upstream(answer(201))
    front = bench.config(books, idempotency={
        "header": "webhook-id", "scope": [], "lease": "1s",
        "outcomes": {"5xx": "release"}}, store={"prefix": "front"})
    front["routes"] = [{**front["routes"][0], "path": "/hook"}]
    front = bench.serve(front)
    proxy = bench.proxy(front.address)
    proxy.cut_replies(every=3, times=None)
    receiver, config = begin(bench)
    config["relays"]["hooks"]["webhook"] = f"http://{proxy.address}/hook"
    config["relays"]["hooks"]["answer"] = True
    gateway = bench.serve(config)
    for n in range(60):
        pay(gateway, f"k{n}")
        if n in (20, 40):
            gateway.kill()
            gateway = bench.serve(config)
    eventually(lambda: proxy.cuts > 10, "answers are lost")
    # One that was unlucky each time is tried ever more rarely.
    proxy.pass_all()
    eventually(lambda: len(books.requests) >= 120, "all are executed", 60)
    nothing_is_kept(bench.redis, 60)
    counts = collections.Counter(
        r.get("webhook-id") for r in books.requests)
    equal(set(counts.values()), {1}, counts)
    assert len(counts) >= 120, len(counts)
    executed = {json.loads(r.body)["key_id"] for r in books.requests}
    equal(len(executed), 60)


@test
def a_certificate_that_nobody_knows_is_no_receiver(bench):
    authority = Authority(bench.folder())
    receiver = Receiver(tls=authority.server())
    bench.upstreams.append(receiver)
    config = bench.config(bench.upstream())
    receiver.relay(config)
    gateway = bench.serve(config)
    pay(gateway, "a")
    assert "TLS" in gateway.wait_for_log("relay_down")["error"]
    equal(receiver.requests, [])
    done = command("doctor", "-c", gateway.file, "--json")
    finding, = [f for f in json.loads(done.stdout)["findings"]
                if f["where"] == "/relays/hooks"]
    equal(finding["name"], "relay_receiver")
    assert "certificate" in finding["words"], finding


@test
def a_relay_that_is_taken_for_a_source_is_known(bench):
    _, config = begin(bench)
    config["admin"]["listen"] = f"unix:{bench.folder()}/admin"
    gateway = bench.serve(config)
    done = command("messages", "pause", "hooks", "-c", gateway.file)
    equal((done.returncode, done.stdout), (1, ""))
    equal(done.stderr, "onceproxy messages: There is no source of this name, "
          "but a relay: POST /relays/hooks/pause and resume are for that. "
          "(status 404)\n")


tap.main()
