# SPDX-License-Identifier: BSD-2-Clause
"""Messages of one order are executed one after the other, others beside them;
what comes behind a dead letter follows it; one gateway at a time reads."""

import json
import os
import signal

from once import tap
from once.admin import Admin
from once.messages import Stream, id_of, source
from once.tap import equal, test
from once.upstream import answer
from once.wait import eventually


def body(account, number):
    return json.dumps({"account": account, "n": number}).encode()


def begin(bench, upstream, members=None, **more):
    """A stream whose messages are ordered by their account."""
    stream = Stream(bench.own_redis("--appendonly", "yes",
                                    "--appendfsync", "always"))
    config = bench.config(upstream, **more)
    source(config, stream, order_by=["/account"], key=["/account", "/n"], **{
        "retry": {"first": "10ms", "most": "20ms", "attempts": 3},
        **(members or {})})
    return stream, config


def executed(upstream):
    """What reached the upstream, in order: (account, number)."""
    sent = [json.loads(r.body) for r in upstream.requests]
    return [(m["account"], m["n"]) for m in sent]


def of(account, sent):
    return [n for a, n in sent if a == account]


def finished(gateway, count):
    gateway.wait_until(lambda: len(gateway.find_log("message")) >= count,
                       f"{count} messages have ended")


@test
def messages_of_one_order_go_one_after_the_other(bench):
    upstream = bench.upstream()
    stream, config = begin(bench, upstream)
    hold = upstream.hold()
    for n in range(3):
        stream.add(body=body("a", n))
    stream.add(body=body("b", 0))
    gateway = bench.serve(config)
    upstream.wait_for(2)
    equal(sorted(executed(upstream)), [("a", 0), ("b", 0)])
    hold.release()
    finished(gateway, 4)
    equal(of("a", executed(upstream)), [0, 1, 2])
    equal(stream.pending(), [])


@test
def a_retry_keeps_its_place(bench):
    refusals = [2]

    def script(connection, request):
        message = json.loads(request.body)
        if message["n"] == 0 and message["account"] == "a" and refusals[0]:
            refusals[0] -= 1
            connection.send(answer(503))
        else:
            connection.send(answer())
    upstream = bench.upstream(script)
    stream, config = begin(bench, upstream)
    for n in range(3):
        stream.add(body=body("a", n))
    stream.add(body=body("b", 0))
    gateway = bench.serve(config)
    finished(gateway, 4)
    equal(of("a", executed(upstream)), [0, 0, 0, 1, 2])


def refusing(number):
    """Refuses that message of account a, for good."""
    def script(connection, request):
        message = json.loads(request.body)
        bad = message["account"] == "a" and message["n"] == number
        connection.send(answer(422 if bad else 201))
    return script


def dead(stream):
    return [(json.loads(e["body"])["n"], e["onceproxy-reason"].decode())
            for e in stream.entries("charges:dead")]


@test
def what_comes_behind_a_dead_letter_follows_it(bench):
    upstream = bench.upstream(refusing(1))
    stream, config = begin(bench, upstream)
    for n in range(4):
        stream.add(body=body("a", n))
    stream.add(body=body("b", 1))
    gateway = bench.serve(config)
    finished(gateway, 5)
    equal(dead(stream), [(1, "refused"), (2, "behind"), (3, "behind")])
    equal(sorted(executed(upstream)), [("a", 0), ("a", 1), ("b", 1)])

    # Also what comes later, and after a restart.
    gateway.stop()
    second = bench.serve(config)
    stream.add(body=body("a", 4))
    stream.add(body=body("b", 2))
    finished(second, 2)
    equal(dead(stream)[-1], (4, "behind"))
    equal(of("b", executed(upstream)), [1, 2])
    equal(stream.pending(), [])


def reset(stream):
    stream.redis("XGROUP", "SETID", "charges", "onceproxy", "0")


@test
def nothing_goes_before_what_was_parked_where_redis_has_lost_that(bench):
    upstream = bench.upstream(refusing(1))
    stream, config = begin(bench, upstream)
    gateway = bench.serve(config)
    # What the gateway looks at behind the first letter is looked at by then.
    for n in range(1, 6):
        stream.add(body=body("a", n))
        finished(gateway, n)
    equal(len(dead(stream)), 5)
    bench.redis("FLUSHALL")
    stream.add(body=body("a", 6))
    gateway.wait_for_log("source_stands", reason="unproven")
    equal(executed(upstream), [("a", 1)])


@test
def what_was_finished_before_the_first_of_a_parked_lane_is_not_behind_it(
        bench):
    """It comes again where the group is reset: only what is new waits."""
    upstream = bench.upstream(refusing(2))
    stream, config = begin(bench, upstream, {"results": {"stream": "done"}})
    for n in range(4):
        stream.add(body=body("a", n))
    gateway = bench.serve(config)
    finished(gateway, 4)
    equal(dead(stream), [(2, "refused"), (3, "behind")])
    gateway.stop()
    reset(stream)
    stream.add(body=body("a", 4))
    second = bench.serve(config)
    finished(second, 5)
    equal([e["outcome"] for e in second.find_log("message")].count(
        "duplicate"), 3)
    equal(dead(stream)[2:], [(2, "refused"), (3, "behind"), (4, "behind")])
    equal(of("a", executed(upstream)), [0, 1, 2])
    equal([e.get("onceproxy-duplicate") for e in stream.entries("done")],
          [None, None, b"true", b"true"])
    equal(stream.pending(), [])


@test
def what_comes_behind_may_go_on(bench):
    upstream = bench.upstream(refusing(1))
    stream, config = begin(bench, upstream, {"behind": "go-on"})
    for n in range(4):
        stream.add(body=body("a", n))
    gateway = bench.serve(config)
    finished(gateway, 4)
    equal(dead(stream), [(1, "refused")])
    equal(of("a", executed(upstream)), [0, 1, 2, 3])


@test
def one_gateway_at_a_time_reads_an_ordered_stream(bench):
    upstream = bench.upstream()
    stream, config = begin(bench, upstream)
    first = bench.serve(dict(config, instance="first"))
    stream.add(body=body("a", 0))
    finished(first, 1)
    second = bench.serve(dict(config, instance="second",
                              state_dir=bench.folder()))
    stream.add(body=body("a", 1))
    finished(first, 2)
    equal(second.find_log("message"), [])
    first.kill()
    stream.add(body=body("a", 2))
    finished(second, 1)
    equal(of("a", executed(upstream)), [0, 1, 2])


@test
def a_gateway_that_leaves_gives_its_turn_away_at_once(bench):
    upstream = bench.upstream()
    stream, config = begin(bench, upstream)
    first = bench.serve(dict(config, instance="first"))
    stream.add(body=body("a", 0))
    finished(first, 1)
    second = bench.serve(dict(config, instance="second",
                              state_dir=bench.folder(),
                              log={"level": "debug"}))
    hold = upstream.hold()
    stream.add(body=body("a", 1))
    upstream.wait_for(2)
    stream.add(body=body("a", 2))
    first.signal(signal.SIGTERM)
    # The call goes on where it began; the other one waits for its end.
    second.wait_for_steps("WAIT", 1)
    equal(of("a", executed(upstream)), [0, 1])
    hold.release()
    finished(second, 2)
    equal(of("a", executed(upstream)), [0, 1, 2])
    equal(stream.pending(), [])


def not_yet(connection, request):
    """The first of account a is never executed."""
    message = json.loads(request.body)
    is_first = (message.get("account"), message.get("n")) == ("a", 0)
    connection.send(answer(503 if is_first else 201))


@test
def who_was_frozen_executes_nothing_once_another_leads(bench):
    """What it was about to try again has been dropped meanwhile, and what came
    behind that is executed."""
    upstream = bench.upstream(not_yet)
    stream, config = begin(
        bench, upstream, {"retry": {"first": "4s", "most": "4s"}},
        admin={"listen": "127.0.0.1:0"}, log={"level": "debug"})
    first = bench.serve(dict(config, instance="first"))
    position = stream.add(body=body("a", 0))
    stream.add(body=body("a", 1))
    first.wait_for_steps("BACK_OFF", 1)
    first.freeze()
    second = bench.serve(dict(config, instance="second",
                              state_dir=bench.folder()))
    upstream.wait_for(2)
    eventually(lambda: Admin(second).post(
        f"/messages/{id_of(position)}/drop").status == 200, "it is dropped")
    finished(second, 2)
    equal(executed(upstream), [("a", 0), ("a", 0), ("a", 1)])
    first.thaw()
    equal(first.ask("k", body=b'{"account":"b"}').status, 201)
    equal([m["account"] for m in map(json.loads, (
        r.body for r in upstream.requests[3:]))], ["b"])


@test
def a_turn_that_is_damaged_is_taken_all_the_same(bench):
    upstream = bench.upstream()
    stream, config = begin(bench, upstream)
    first = bench.serve(config)
    stream.add(body=body("a", 0))
    finished(first, 1)
    first.kill()
    [turn] = [name for name in bench.redis.keys() if b":leadership:" in name]
    bench.redis("SET", turn, "9" * 20 + " " + "9" * 20 + " x")
    stream.add(body=body("a", 1))
    second = bench.serve(config)
    finished(second, 1)
    equal(of("a", executed(upstream)), [0, 1])


@test
def what_a_dead_reader_left_comes_before_what_is_new(bench):
    upstream = bench.upstream()
    stream, config = begin(bench, upstream)
    config["routes"][0]["idempotency"]["lease"] = "1s"
    config["routes"][0]["idempotency"]["on_unknown"] = "retry"
    first = bench.serve(dict(config, instance="first"))
    hold = upstream.hold()
    stream.add(body=body("a", 0))
    upstream.wait_for(1)
    first.kill()
    stream.add(body=body("a", 1))
    second = bench.serve(dict(config, instance="second",
                              state_dir=bench.folder()))
    hold.release()
    finished(second, 2)
    equal(of("a", executed(upstream)), [0, 0, 1])
    equal(stream.pending(), [])


@test
def who_waits_for_its_turn_does_not_call_the_broker_away(bench):
    stream, config = begin(bench, bench.upstream())
    first = bench.serve(dict(config, instance="first"))
    stream.add(body=body("a", 0))
    finished(first, 1)
    path = os.path.join(bench.folder(), "admin")
    second = bench.serve(dict(config, instance="second",
                              admin={"listen": f"unix:{path}"}))
    admin = Admin(second)
    eventually(lambda: "onceproxy_broker_up" in
               admin.send("GET", "/metrics").body.decode(), "it is counted")
    shown, = admin.get("/sources")["sources"]
    equal((shown["standing"], shown["broker_up"]), (None, True))
    assert ('onceproxy_broker_up{broker="queue"} 1' in
            admin.send("GET", "/metrics").body.decode())
    first.kill()
    stream.add(body=body("a", 1))
    finished(second, 1)
    equal(admin.get("/sources")["sources"][0]["broker_up"], True)


tap.main()
