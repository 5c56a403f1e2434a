# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: SIGHUP reloads without dropping a request; a file that
does not validate is refused, and the old one stays."""

import os
import signal

from once import tap
from once.gateway import write
from once.tap import each, equal, test
from once.upstream import answer, then_close


def reload(gateway, config, event="reloaded"):
    since = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    return gateway.wait_for_log(event, since)


@test
def new_routes_serve_and_what_is_in_flight_ends(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    gateway = bench.serve(config)
    hold = upstream.hold()
    first = bench.background(gateway.ask, "k")
    hold.wait_arrived()
    other = bench.upstream(answer(200, b"the other one"))
    config["upstreams"]["api"] = other.url
    reload(gateway, config)
    equal(gateway.ask("another").body, b"the other one")
    hold.release()
    equal(first.result().status, 201)
    equal(gateway.ask("k").replayed, True)
    equal((upstream.count(), other.count()), (1, 1))


@test
def requests_on_kept_connections_see_the_new_routes(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    gateway = bench.serve(config)
    with gateway.client() as client:
        equal(client.exchange("GET", "/x").status, 201)
        config["routes"] = config["routes"][:1]
        reload(gateway, config)
        equal(client.exchange("GET", "/x").status, 404)


@test
def a_bad_file_is_refused_and_the_old_one_stays(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    gateway = bench.serve(config)
    line = reload(gateway, {**config, "colour": 1}, "reload_refused")
    equal(line["member"], "/colour")
    equal(gateway.ask("k").status, 201)
    line = reload(gateway, "{", "reload_refused")
    equal((line["file"], line["line"]), (gateway.file, 1))
    equal(gateway.ask("k").replayed, True)


@test
def a_file_that_is_gone_is_named(bench):
    gateway = bench.serve(bench.config(bench.upstream()))
    os.remove(gateway.file)
    gateway.signal(signal.SIGHUP)
    line = gateway.wait_for_log("reload_refused")
    equal((line["file"], line["error"]),
          (gateway.file, "cannot be read: No such file or directory"))


@test
def what_cannot_change_at_run_time_is_said(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    gateway = bench.serve(config)
    equal(gateway.ask("k").status, 201)
    store = {**config["store"], "secret": "another", "prefix": "other"}
    line = reload(gateway, {**config, "store": store}, "reload_partial")
    assert line["member"].startswith("/store"), line
    # The key still has its record.
    equal(gateway.ask("k").replayed, True)
    equal(upstream.count(), 1)


@test
def a_hundred_reloads_drop_no_request(bench):
    upstream = bench.upstream()
    config = bench.config(upstream)
    gateway = bench.serve(config)
    asks = [bench.background(gateway.ask, f"k{number}")
            for number in range(40)]
    for _ in range(100):
        gateway.signal(signal.SIGHUP)
    for ask in asks:
        equal(ask.result().status, 201)
    equal(upstream.count(), 40)
    gateway.stop()


@each([
    ("reconcile by a member", {"on_unknown": {"reconcile": {
        "path": "/by-order/{json:/order}", "settle": "0s"}}}),
    ("an entity", {"entity": ["/order"], "serialize": True}),
    ("versions", {"entity": ["/order"], "newer_only": "/version"}),
])
def keys_that_are_in_use_stay_what_they_are_with(bench, added):
    """Nobody is told to use a new key for a payment that was made."""
    body = b'{"order": "o-17", "version": 3}'
    upstream, gateway = bench.pair(then_close(b""))
    equal(gateway.ask("unknown", body=body).problem, "outcome-unknown")
    upstream.reply = answer(201, b"paid")
    equal(gateway.ask("paid", body=body).status, 201)

    gateway.config["routes"][0]["idempotency"] = added
    reload(gateway, gateway.config)
    upstream.replies["/by-order/o-17"] = answer(200, b"it happened")
    got = gateway.ask("unknown", body=body)
    if "on_unknown" in added:
        equal((got.status, got.body), (200, b"it happened"))
    else:
        equal(got.problem, "outcome-unknown")
    got = gateway.ask("paid", body=body)
    equal((got.status, got.replayed, got.body), (201, True, b"paid"))
    equal(upstream.count(method="POST"), 2)


tap.main()
