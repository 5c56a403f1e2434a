# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 9: metrics, exact per route and outcome."""

import os
import re
import signal
import time

from once import tap
from once.gateway import write
from once.http import ask, build, keyed
from once.messages import Stream, source
from once.tap import equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

LINE = re.compile(r'([a-z_]+)(\{(?:[a-z]+="(?:[^"\\]|\\.)*",?)*\})? (\S+)')


def start(bench, **members):
    upstream = bench.upstream()
    gateway = bench.gateway(
        upstream, admin={"listen": "127.0.0.1:0"}, **members)
    return upstream, gateway


def metrics(gateway):
    """{name{labels}: value} of all samples."""
    got = ask(gateway.ready["admin"],
              build("GET", "/metrics", host="localhost"))
    equal(got.status, 200)
    assert got.get("Content-Type").startswith("text/plain; version=0.0.4")
    samples = {}
    for line in got.body.decode().splitlines():
        if line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        assert match, line
        name = match[1] + (match[2] or "")
        assert name not in samples, name
        samples[name] = float(match[3])
    return samples


def requests(samples):
    return {k: v for k, v in samples.items()
            if k.startswith("onceproxy_requests_total")}


def expect(gateway, wanted):
    """A request is counted when its answer is out: a moment later."""
    eventually(lambda: requests(metrics(gateway)) == wanted,
               f"{wanted}; now {requests(metrics(gateway))}")


def counted(route, outcome):
    return ('onceproxy_requests_total{route="%s",outcome="%s"}'
            % (route, outcome))


@test
def requests_are_counted_exactly_by_route_and_outcome(bench):
    upstream, gateway = start(bench)
    for number in range(5):
        gateway.ask(f"k{number}")
    for _ in range(3):
        gateway.ask("k0")
    gateway.ask("k1", body=b'{"another": "body"}')
    gateway.ask()
    gateway.send(build("GET", "/x"))
    gateway.send(build("GET", "/x"))
    expect(gateway, {
        counted("charges", "executed"): 5,
        counted("charges", "replayed"): 3,
        counted("charges", "mismatch"): 1,
        counted("charges", "key-missing"): 1,
        counted("rest", "passed"): 2})


@test
def who_is_turned_away_at_the_door_is_counted_too(bench):
    # Not 1: the limit holds for the admin interface too, which is asked.
    upstream, gateway = start(bench, workers=1, limits={"connections": 8})
    clients = [gateway.client() for _ in range(8)]
    for client in clients:
        equal(client.exchange("GET", "/x").status, 201)
    for _ in range(3):
        equal(gateway.ask("k").problem, "overloaded")
    for client in clients:
        client.close()
    expect(gateway, {counted("rest", "passed"): 8,
                     counted("-", "overloaded"): 3})


@test
def a_histogram_has_each_request_once_and_its_buckets_add_up(bench):
    upstream, gateway = start(bench)
    for number in range(7):
        gateway.ask(f"k{number}")
    expect(gateway, {counted("charges", "executed"): 7})
    samples = metrics(gateway)
    for metric, label in (("request", 'route="charges"'),
                          ("upstream", 'upstream="api"'),
                          ("store", 'operation="claim"'),
                          ("store", 'operation="complete"')):
        name = f"onceproxy_{metric}_seconds"
        equal(samples[f"{name}_count{{{label}}}"], 7, name)
        assert samples[f"{name}_sum{{{label}}}"] > 0
        buckets = [v for k, v in samples.items()
                   if k.startswith(f"{name}_bucket{{{label},")]
        equal(buckets, sorted(buckets), name)
        equal(buckets[-1], 7, name)


@test
def counts_go_on_over_a_reload(bench):
    upstream, gateway = start(bench)
    gateway.ask("k")
    since = len(gateway.events)
    gateway.signal(1)
    gateway.wait_for_log("reloaded", since)
    gateway.ask("k2")
    expect(gateway, {counted("charges", "executed"): 2})


@test
def what_is_in_flight_and_who_waits_is_told(bench):
    upstream, gateway = start(bench, idempotency={"in_flight": "wait"})
    equal(metrics(gateway)["onceproxy_in_flight"], 0)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    equal(metrics(gateway)["onceproxy_in_flight"], 1)
    other = bench.background(gateway.ask, "k")
    eventually(lambda: metrics(gateway)["onceproxy_waiting"] == 1)
    leaver = gateway.client()
    leaver.send(keyed("k"))
    eventually(lambda: metrics(gateway)["onceproxy_waiting"] == 2)
    leaver.close()
    eventually(lambda: metrics(gateway)["onceproxy_waiting"] == 1)
    hold.release()
    equal((first.result().status, other.result().status), (201, 201))
    samples = metrics(gateway)
    equal(samples["onceproxy_waiting"], 0)
    eventually(lambda: metrics(gateway)["onceproxy_in_flight"] == 0)


@test
def a_journal_that_is_not_empty_is_told(bench):
    redis = bench.own_redis("--appendonly", "yes")
    upstream, gateway = start(bench, redis=redis)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    equal(metrics(gateway)["onceproxy_store_up"], 1)
    redis.kill()
    hold.release()
    equal(first.result().status, 201)
    samples = metrics(gateway)
    equal((samples["onceproxy_journal_entries"],
           samples["onceproxy_store_up"]), (1, 0))
    redis.start()
    eventually(lambda: metrics(gateway)["onceproxy_journal_entries"] == 0)


@test
def records_are_counted_by_their_state(bench):
    redis = bench.own_redis()
    upstream, gateway = start(
        bench, redis=redis, idempotency={"max_attempts": 1})

    def records():
        return {state: metrics(gateway).get(
            'onceproxy_records{state="%s"}' % state)
            for state in ("PROCESSING", "UNKNOWN", "FAILED")}
    equal(records(), {"PROCESSING": 0, "UNKNOWN": 0, "FAILED": 0})
    upstream.reply = close_unanswered
    for number in range(3):
        gateway.ask(f"u{number}")
    upstream.reply = answer(503)
    gateway.ask("f")
    equal(gateway.ask("f").problem, "attempts-exhausted")
    upstream.reply = answer()
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    equal(records(), {"PROCESSING": 1, "UNKNOWN": 3, "FAILED": 1})
    age = ('onceproxy_unknown_age_seconds'
           '{route="charges",reason="broken"}')
    equal([name for name in metrics(gateway) if "unknown_age" in name], [age])
    eventually(lambda: metrics(gateway)[age] > 0)
    redis.kill()
    equal(records(), {"PROCESSING": None, "UNKNOWN": None, "FAILED": None})
    assert age not in metrics(gateway)
    hold.release()
    first.result()


@test
def the_memory_of_redis_and_its_limit_are_told(bench):
    redis = bench.own_redis("--maxmemory", "64mb")
    upstream, gateway = start(bench, redis=redis)
    limit = "onceproxy_store_memory_max_bytes"
    samples = metrics(gateway)
    equal(samples[limit], 64 * 1024 * 1024)
    assert 1e5 < samples["onceproxy_store_memory_bytes"] < samples[limit]
    redis("CONFIG", "SET", "maxmemory", "0")
    eventually(lambda: metrics(gateway)[limit] == 0)
    redis.kill()
    eventually(lambda: limit not in metrics(gateway))


@test
def the_process_is_told_about(bench):
    upstream, gateway = start(bench)
    samples = metrics(gateway)
    folder = f"/proc/{gateway.pid}"
    assert samples["process_cpu_seconds_total"] > 0
    assert samples["process_resident_memory_bytes"] > 1e6
    # The connection that scrapes may be one of them.
    assert abs(samples["process_open_fds"]
               - len(os.listdir(folder + "/fd"))) < 5
    assert samples["process_start_time_seconds"] > 1.7e9
    equal(samples['onceproxy_build_info{version="%s"}'
                  % gateway.ready["version"]], 1)


@test
def a_name_with_quotes_is_a_label_still(bench):
    upstream = bench.upstream()
    config = bench.config(upstream, admin={"listen": "127.0.0.1:0"})
    config["routes"][0]["name"] = 'a"b\\c'
    gateway = bench.serve(config)
    gateway.ask("k")
    expect(gateway, {counted('a\\"b\\\\c', "executed"): 1})


@test
def what_is_fenced_is_counted(bench):
    upstream, gateway = start(bench, idempotency={"lease": "2s"})
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    bench.redis("FLUSHALL")
    eventually(lambda: metrics(gateway)["onceproxy_leases_lost_total"] > 0)
    second = bench.background(gateway.ask, "k")
    upstream.wait_for(2)
    hold.release()
    first.result(), second.result()
    expect(gateway, {counted("charges", "fenced"): 1,
                     counted("charges", "executed"): 1})
    equal(metrics(gateway)["onceproxy_fenced_total"], 1)


# --- sources ----------------------------------------------------------------

def start_source(bench, upstream, members=None, **more):
    stream = Stream(bench.own_redis())
    config = bench.config(upstream, admin={"listen": "127.0.0.1:0"}, **more)
    source(config, stream, **(members or {}))
    return stream, bench.serve(config)


def of_charges(name, **labels):
    parts = [("source", "charges"), *labels.items()]
    return name + "{" + ",".join(f'{k}="{v}"' for k, v in parts) + "}"


def expect_samples(gateway, wanted):
    def now():
        samples = metrics(gateway)
        return {name: samples.get(name) for name in wanted}
    eventually(lambda: now() == wanted, f"{wanted}; now {now()}")


@test
def messages_are_counted_exactly_by_source_and_outcome(bench):
    stream, gateway = start_source(
        bench, bench.upstream(), {"results": {"stream": "done"}}, workers=3)
    for key in ("a", "b", "b"):
        stream.add(body=b"{}", idempotency_key=key)
    stream.add(body=b"{}", idempotency_key="not a key")
    counts = {"executed": 2, "duplicate": 1, "malformed": 1, "refused": 0}
    expect_samples(gateway, {
        **{of_charges("onceproxy_messages_total", outcome=k): v
           for k, v in counts.items()},
        of_charges("onceproxy_dead_letters_total", reason="malformed"): 1,
        of_charges("onceproxy_dead_letters_total", reason="refused"): 0,
        of_charges("onceproxy_results_total"): 3,
        of_charges("onceproxy_message_seconds_count"): 4,
        of_charges("onceproxy_message_age_seconds_count"): 4,
        of_charges("onceproxy_source_in_flight"): 0,
        of_charges("onceproxy_source_lost_total", how="deleted"): 0,
        'onceproxy_broker_up{broker="queue"}': 1})
    equal([k for k in requests(metrics(gateway)) if "charges" in k], [])


@test
def the_age_of_a_message_may_be_hours(bench):
    stream, gateway = start_source(bench, bench.upstream())
    at = int((time.time() - 3 * 3600) * 1000)
    stream.add(f"{at}-0", body=b"{}", idempotency_key="k")
    expect_samples(gateway, {
        of_charges("onceproxy_message_age_seconds_bucket", le="10000"): 0,
        of_charges("onceproxy_message_age_seconds_bucket", le="30000"): 1})


@test
def what_is_held_and_what_follows_it_are_gauges(bench):
    calls = []

    def script(connection, request):
        calls.append(request)
        if len(calls) == 1:
            connection.close()
        else:
            connection.send(answer())
    stream, gateway = start_source(bench, bench.upstream(script))
    stream.add(body=b"{}", idempotency_key="held")
    gateway.wait_for_log("message_held")
    for n in range(3):
        stream.add(body=b"{}", idempotency_key=f"k{n}")
    expect_samples(gateway, {
        of_charges("onceproxy_messages_total", outcome="executed"): 3,
        of_charges("onceproxy_source_held"): 1,
        of_charges("onceproxy_source_retrying"): 0,
        of_charges("onceproxy_source_in_flight"): 0,
        of_charges("onceproxy_source_gap"): 3})


@test
def a_message_that_is_held_is_no_retry_that_waits(bench):
    upstream = bench.upstream(close_unanswered)
    stream, gateway = start_source(
        bench, upstream, idempotency={"in_flight": "wait"})
    stream.add(body=b"{}", idempotency_key="held")
    expect_samples(gateway, {
        of_charges("onceproxy_source_held"): 1,
        of_charges("onceproxy_source_in_flight"): 0,
        "onceproxy_waiting": 0})
    upstream.reply = answer()
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    retry = bench.background(gateway.ask, "k")
    expect_samples(gateway, {"onceproxy_waiting": 1})
    hold.release()
    equal((first.result().status, retry.result().status), (201, 201))
    expect_samples(gateway, {
        of_charges("onceproxy_source_held"): 1, "onceproxy_waiting": 0})


@test
def a_source_that_stands_still_has_its_reason(bench):
    stream, gateway = start_source(bench, bench.upstream())
    expect_samples(gateway, {
        of_charges("onceproxy_source_standing", reason="broker"): 0,
        of_charges("onceproxy_source_standing", reason="operator"): 0})
    stream.redis.kill()
    expect_samples(gateway, {
        of_charges("onceproxy_source_standing", reason="broker"): 1,
        of_charges("onceproxy_source_standing", reason="operator"): 0,
        'onceproxy_broker_up{broker="queue"}': 0})


@test
def a_source_that_moves_to_another_broker_keeps_its_series(bench):
    stream, gateway = start_source(bench, bench.upstream())
    stream.add(body=b"{}", idempotency_key="a")
    gateway.wait_for_log("message", outcome="executed")
    config = gateway.config
    config["brokers"] = {"other": config["brokers"]["queue"]}
    config["sources"]["charges"]["broker"] = "other"
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    stream.add(body=b"{}", idempotency_key="b")
    expect_samples(gateway, {
        of_charges("onceproxy_messages_total", outcome="executed"): 2,
        of_charges("onceproxy_message_seconds_count"): 2,
        'onceproxy_broker_up{broker="other"}': 1,
        'onceproxy_broker_up{broker="queue"}': None})


tap.main()
