# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 9: metrics, exact per route and outcome."""

import os
import re

from once import tap
from once.http import ask, build, keyed
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
    redis.kill()
    equal(records(), {"PROCESSING": None, "UNKNOWN": None, "FAILED": None})
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
    upstream, gateway = start(bench, idempotency={"lease": "300ms"})
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


tap.main()
