# SPDX-License-Identifier: BSD-2-Clause
"""What operators see of relays and do to them: the admin interface, metrics."""

from once import tap
from once.admin import Admin
from once.gateway import is_without
from once.postgres import programs
from once.relays import Ledger, relay
from once.tap import each, equal, test
from once.wait import eventually

SHARDS = 4


def begin(bench, **members):
    upstream = bench.upstream()
    postgres = bench.postgres()
    config = bench.config(upstream, store={"shards": SHARDS},
                          admin={"listen": "127.0.0.1:0"}, **members)
    relay(config, postgres)
    return config, Ledger(postgres, bench.redis, SHARDS)


def shown(admin):
    found, = admin.get("/relays")["relays"]
    return found


def pay(gateway, *keys):
    for key in keys:
        equal(gateway.ask(key).status, 201)


@test
def relays_are_shown(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    admin = Admin(gateway)
    pay(gateway, "a", "b")
    ledger.wait_whole()
    eventually(lambda: (shown(admin)["lag"], shown(admin)["events"]) == (0, 4),
               "it has brought all")
    equal(shown(admin), {
        "name": "ledger", "kind": "postgres", "broker": "shop",
        "table": "ledger", "runs": True, "up": True, "lag": 0, "events": 4,
        "lost": 0, "paused": None})


@test
def why_nothing_is_brought_is_shown(bench):
    config, ledger = begin(bench)
    gateway = bench.serve(config)
    admin = Admin(gateway)
    pay(gateway, "a")
    ledger.wait_whole()
    ledger.postgres.kill()
    pay(gateway, "b")
    eventually(lambda: shown(admin)["up"] is False, "it is down")
    eventually(lambda: shown(admin)["lag"] == 2, "two events wait")
    assert shown(admin)["error"], shown(admin)
    ledger.postgres.start()
    ledger.wait_whole()
    eventually(lambda: shown(admin)["up"], "it is up")
    assert "error" not in shown(admin)


@test
def a_pause_is_for_all_gateways_until_it_is_resumed(bench):
    config, ledger = begin(bench)
    one = bench.serve({**config, "instance": "one"})
    one.wait_for_log("relay_begins")
    other = bench.serve({**config, "instance": "other"})
    paused = Admin(other).post("/relays/ledger/pause", {"note": "a move"})
    equal((paused.status, paused.json()["paused"]["note"]), (200, "a move"))
    one.wait_for_log("relay_paused", note="a move")
    eventually(lambda: shown(Admin(one))["paused"], "it is shown")
    pay(other, "a", "b")
    eventually(lambda: shown(Admin(one))["lag"] == 4, "four events wait")
    equal(ledger.count(), 0)
    one.stop()
    other.wait_for_log("relay_begins")
    eventually(lambda: shown(Admin(other))["lag"] == 4, "still")
    equal(ledger.count(), 0)
    Admin(other).post("/relays/ledger/resume", {"note": "done"})
    other.wait_for_log("relay_resumed")
    equal(len(ledger.wait_whole()), 4)
    other.wait_for_log("operator_relay", act="resume", relay="ledger")


@each([
    ("an unknown relay", "/relays/x/pause", 404, {}),
    ("one that is not paused", "/relays/ledger/resume", 409, {}),
    ("a member that is none", "/relays/ledger/pause", 400, {"x": 1}),
    ("another act", "/relays/ledger/drop", 404, {}),
])
def operators_are_refused(bench, path, status, body):
    config, ledger = begin(bench)
    admin = Admin(bench.serve(config))
    equal(admin.post(path, body).status, status)


@test
def metrics_are_of_the_gateway_that_runs_it(bench):
    config, ledger = begin(bench)
    one = bench.serve({**config, "instance": "one"})
    one.wait_for_log("relay_begins")
    other = bench.serve({**config, "instance": "other"})
    pay(other, "a", "b")
    ledger.wait_whole()

    def value(gateway, name):
        text = Admin(gateway).send("GET", "/metrics").body.decode()
        found = [line.split()[-1] for line in text.splitlines()
                 if line.startswith(f'onceproxy_relay_{name}{{relay="ledger"')]
        return found[0] if found else None
    eventually(lambda: value(one, "events_total") == "4", "they are counted")
    eventually(lambda: value(one, "lag") == "0", "none is left")
    equal([value(one, "up"), value(one, "lost_total")], ["1", "0"])
    equal([value(other, name) for name in
           ("up", "lag", "events_total", "lost_total")],
          [None, None, "0", "0"])


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
