# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 7 and 9: answers, connections, reloads, certificates and
traces as metrics and log lines, in the words that Prometheus expects."""

import os
import re
import shutil
import signal
import subprocess

from once import http, tap
from once.admin import Admin
from once.certificates import Authority
from once.gateway import write
from once.skip import Skip
from once.tap import each, equal, test
from once.upstream import answer
from once.wait import eventually

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
WELL = f"00-{TRACE}-{PARENT}-01"


def start(bench, reply=None, **members):
    upstream = bench.upstream(reply)
    return upstream, bench.gateway(upstream, **{
        "admin": {"listen": "unix:" + os.path.join(bench.folder(), "admin")},
        **members})


def exposition(gateway):
    got = Admin(gateway).send("GET", "/metrics")
    equal(got.status, 200)
    return got.body.decode()


def samples(gateway):
    return dict(line.rsplit(" ", 1)
                for line in exposition(gateway).splitlines()
                if not line.startswith("#"))


# --- answers ----------------------------------------------------------------

@test
def answers_are_counted_by_their_class(bench):
    upstream, gateway = start(bench, answer(201))
    gateway.ask("a")
    gateway.ask("a", body=b"another")
    upstream.reply = answer(503)
    gateway.ask("b")
    gateway.send(http.build("GET", "/plain"))
    wanted = {("charges", "2xx"): 1, ("charges", "4xx"): 1,
              ("charges", "5xx"): 1, ("rest", "5xx"): 1}

    def found():
        now = samples(gateway)
        return {(route, kind): int(value) for name, value in now.items()
                for route, kind in re.findall(
                    r'responses_total\{route="(.*)",class="(.*)"\}', name)}
    eventually(lambda: found() == wanted, f"{wanted}; now {found()}")


# --- connections ------------------------------------------------------------

@test
def connections_are_counted_on_both_sides(bench):
    _, gateway = start(bench, options={"max_idle": "1h"})
    client, upstream = (
        f'onceproxy_connections{{side="{side}"}}'
        for side in ("client", "upstream"))
    now = samples(gateway)
    equal((now[client], now[upstream]), ("0", "0"))
    with gateway.client() as one, gateway.client() as other:
        for each_one in (one, other):
            each_one.send(http.keyed("k"))
            equal(each_one.read().status, 201)
        now = samples(gateway)
        equal(now[client], "2")
        equal(now[upstream], "1")  # kept for the next; the retry needed none
    eventually(lambda: samples(gateway)[client] == "0")


@test
def connections_to_an_upstream_that_has_gone_are_not(bench):
    upstream, gateway = start(bench, options={"max_idle": "1h"})
    gateway.ask("k")
    upstream.stop()
    eventually(lambda: samples(gateway)[
        'onceproxy_connections{side="upstream"}'] == "0")


# --- reloads, the log, certificates -----------------------------------------

@test
def reloads_are_counted_by_what_became_of_them(bench):
    _, gateway = start(bench)
    loaded, refused = (f'onceproxy_reloads_total{{result="{result}"}}'
                       for result in ("loaded", "refused"))
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reloaded")
    eventually(lambda: samples(gateway)[loaded] == "1")
    write(gateway.file, {**gateway.config, "upstreams": {}})
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("reload_refused")
    eventually(lambda: samples(gateway)[refused] == "1")
    equal(samples(gateway)[loaded], "1")


@test
def lines_that_nobody_reads_are_counted(bench):
    _, gateway = start(bench)
    equal(samples(gateway)["onceproxy_log_dropped_total"], "0")


@test
def a_certificates_end_is_said(bench):
    tls = Authority(bench.folder()).issue("gate")
    _, gateway = start(bench, listen=["127.0.0.1:0", {
        "address": "localhost:0",
        "tls": {"certificate": tls.file, "key": tls.key}}])
    found = {name: value for name, value in samples(gateway).items()
             if "certificate" in name}
    shown = subprocess.run(
        ["openssl", "x509", "-in", tls.file, "-noout", "-enddate"],
        capture_output=True, text=True, check=True).stdout
    ends = subprocess.run(
        ["date", "-d", shown.strip().partition("=")[2], "+%s"],
        capture_output=True, text=True, check=True).stdout.strip()
    equal(found, {
        'onceproxy_certificate_expiry_seconds{address="localhost:0"}': ends})


# --- traces -----------------------------------------------------------------

@test
def a_trace_goes_on_to_the_api_and_is_in_the_log(bench):
    upstream, gateway = start(bench)
    gateway.ask("k", fields=[("traceparent", WELL), ("tracestate", "a=1")])
    (request,) = upstream.requests
    equal((request.get("traceparent"), request.get("tracestate")),
          (WELL, "a=1"))
    equal(gateway.wait_for_log("request")["trace_id"], TRACE)


@each([("none", []), ("empty", [""]), ("two", [WELL, WELL]),
       ("upper case", [WELL.upper()]), ("short", [WELL[:-1]]),
       ("long", [WELL + "-more"]), ("no dashes", [WELL.replace("-", "_")]),
       ("zeros", [WELL.replace(TRACE, "0" * 32)]),
       ("a parent of zeros", [WELL.replace(PARENT, "0" * 16)]),
       ("the version that never is", ["ff" + WELL[2:]]),
       ("words", ["x" * 55])])
def no_trace_id_is_made_up_of(bench, values):
    _, gateway = start(bench)
    got = gateway.ask("k", fields=[("traceparent", v) for v in values])
    equal(got.status, 201)
    assert "trace_id" not in gateway.wait_for_log("request")


@test
def a_later_version_may_say_more(bench):
    _, gateway = start(bench)
    gateway.ask("k", fields=[("traceparent", "01" + WELL[2:] + "-more")])
    equal(gateway.wait_for_log("request")["trace_id"], TRACE)


# --- what Prometheus says of it ---------------------------------------------

def busy(bench):
    upstream, gateway = start(bench)
    gateway.ask("k")
    gateway.ask("k")
    gateway.ask("k", body=b"another")
    gateway.send(http.build("GET", "/plain"))
    return gateway


@test
def promtool_finds_nothing_wrong(bench):
    if not shutil.which("promtool"):
        raise Skip("there is no promtool (Debian: prometheus)")
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=exposition(busy(bench)),
        capture_output=True, text=True, check=False)
    equal((done.returncode, done.stdout, done.stderr), (0, "", ""))


@test
def names_are_as_prometheus_advises(bench):
    """Units are base units and last, counters end with _total, and nothing
    else does; every metric has its help and its type once."""
    text = exposition(busy(bench))
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
    helps = re.findall(r"^# HELP (\S+) (.+)$", text, re.M)
    equal([name for name, _ in helps], list(kinds))
    for name, words in helps:
        assert re.fullmatch(r"(onceproxy|process)_[a-z0-9_]+", name), name
        assert words[0].isupper() or words[0].isdigit(), (name, words)
        assert words.endswith("."), (name, words)
        equal(name.endswith("_total"), kinds[name] == "counter", name)
        for unit in ("_ms", "_milliseconds", "_minutes", "_kib", "_us",
                     "_percent"):
            assert unit not in name, name
        assert not re.search(r"_(count|sum|bucket|info)$", name) or \
            name == "onceproxy_build_info", name
    seen = set()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name = line.rsplit(" ", 1)[0]
        assert name not in seen, name
        seen.add(name)
        base = re.sub(r"(_bucket|_sum|_count)?(\{.*)?$", "", name)
        assert base in kinds or name.split("{")[0] in kinds, name


tap.main()
