# SPDX-License-Identifier: BSD-2-Clause
"""Contract, sections 12 and 13: outcomes go out to a table of PostgreSQL, each
event exactly once, in the order of each record."""

import json
import signal

from once import tap
from once.admin import Admin
from once.gateway import command, is_without, write
from once.postgres import programs
from once.relays import NAMES, Ledger, relay
from once.tap import each, equal, test
from once.upstream import answer, close_unanswered
from once.wait import eventually

SHARDS = 4
TABLE = (
    "CREATE TABLE ledger (id text PRIMARY KEY, key_id text, route text, "
    "\"from\" text, \"to\" text, status int, attempt int, "
    "time timestamptz, instance text, request_id text, label jsonb, "
    "answer jsonb")


def begin(bench, reply=None, idempotency=None, redis=None, **members):
    """An upstream, a PostgreSQL, a configuration, and the relay's ledger."""
    upstream = bench.upstream(reply)
    postgres = bench.postgres()
    store = {"shards": SHARDS, **members.pop("store", {})}
    redis = redis or bench.redis
    config = bench.config(upstream, idempotency, redis=redis, store=store)
    relay(config, postgres, **members)
    return upstream, config, Ledger(postgres, redis, SHARDS)


def pay(gateway, keys):
    for key in keys:
        equal(gateway.ask(key).status, 201)


def load(gateway, config, event):
    """Has the gateway load that; the log's line about it."""
    seen = len(gateway.events)
    write(gateway.file, config)
    gateway.signal(signal.SIGHUP)
    return gateway.wait_for_log(event, seen)


@test
def each_event_is_a_row(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, ["a", "b", "c"])
    rows = ledger.wait_whole()
    equal(len(rows), 6)
    equal(list(ledger.stories().values()),
          [["NONE>PROCESSING 1", "PROCESSING>COMPLETED 1 201"]] * 3)
    equal(list(rows[0]), NAMES)
    for row in rows:
        equal((row["route"], row["answer"]), ("charges", None))


@test
def a_new_relay_begins_with_what_the_streams_have(bench):
    """In its order; rows go together, but for large ones."""
    upstream, config, ledger = begin(bench, answer=True)
    relays = config.pop("relays")
    config["store"]["events"] = {"maxlen": 1000}
    gateway = bench.serve(config)
    pay(gateway, [f"small{n}" for n in range(40)])
    upstream.reply = answer(201, b"z" * 150000)
    pay(gateway, [f"large{n}" for n in range(10)])
    gateway.stop()
    ledger.postgres(
        f"{TABLE}, n serial); CREATE TABLE put (rows int, bytes int); "
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
        "INSERT INTO put SELECT count(*), sum(length(answer::text)) FROM made; "
        "RETURN NULL; END$$; CREATE TRIGGER note AFTER INSERT ON ledger "
        "REFERENCING NEW TABLE AS made EXECUTE FUNCTION note()")
    config["relays"] = relays
    bench.serve(config)
    equal(len(ledger.wait_whole(stories=False)), 100)
    equal(ledger.postgres('SELECT "to" FROM ledger ORDER BY key_id, n'),
          ["PROCESSING", "COMPLETED"] * 50)
    put = ledger.postgres.rows("SELECT * FROM put")
    assert max(one["rows"] for one in put) > 10, put
    assert max(one["bytes"] or 0 for one in put) < 300000, put


@test
def it_goes_on_where_it_stands_after_a_restart(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, ["a", "b"])
    ledger.wait_whole()
    gateway.stop()
    ledger.postgres("DELETE FROM ledger")
    gateway = bench.serve(config)
    pay(gateway, ["c"])
    ledger.wait_for(2)
    rows = ledger.rows()
    equal([row["to"] for row in rows], ["PROCESSING", "COMPLETED"])


@test
def routes_and_states_choose(bench):
    upstream, config, ledger = begin(
        bench, routes=["charges"], states=["COMPLETED", "UNKNOWN"])
    config["routes"].insert(0, {
        "name": "refunds", "methods": ["POST"], "path": "/v1/refunds",
        "upstream": "api", "idempotency": {}})
    gateway = bench.serve(config)
    pay(gateway, ["a"])
    equal(gateway.ask("b", target="/v1/refunds").status, 201)
    upstream.reply = close_unanswered
    equal(gateway.ask("c").status, 502)
    rows = ledger.wait_whole(wanted=lambda entry: (
        entry["route"] == "charges" and
        entry["to"] in ("COMPLETED", "UNKNOWN")), stories=False)
    equal(sorted(row["to"] for row in rows), ["COMPLETED", "UNKNOWN"])


@test
def an_older_gateways_event_is_of_its_route(bench):
    upstream, config, ledger = begin(bench, routes=["charges"])
    gateway = bench.serve(config)
    pay(gateway, ["a"])
    row = ledger.wait_whole()[0]
    stream = next(name for name in ledger.redis.keys()
                  if name.endswith(b":events"))
    # What it writes of a record that a newer one has made.
    ledger.redis("XADD", stream, "*", "id", row["key_id"], "route",
                 "charges\tPOST\t/v1/charges\tnew\t=label\trequest", "from",
                 "PROCESSING", "to", "UNKNOWN", "attempt", "1")
    last = eventually(lambda: [r for r in ledger.rows()
                               if r["to"] == "UNKNOWN"], "it is brought")
    equal([r["route"] for r in last], ["charges"])


@test
def where_it_stands_moves_also_past_what_nobody_wants(bench):
    upstream, config, ledger = begin(bench, states=["FAILED"])
    gateway = bench.serve(config)
    pay(gateway, ["a", "b", "c"])
    eventually(lambda: ledger.read() == 6, "6 entries are behind it")
    equal(ledger.rows(), [])


def answers(ledger):
    return [row["answer"] for row in ledger.rows()
            if row["to"] == "COMPLETED"]


@test
def an_answer_comes_with_its_completion(bench):
    upstream, config, ledger = begin(
        bench, answer(201, b'{"id": "ch_1"}', [("X-A", "b")]), answer=True)
    config["store"]["encryption_keys"] = [
        {"id": "a", "key": "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="}]
    gateway = bench.serve(config)
    pay(gateway, ["text"])
    upstream.reply = answer(201, b"\x00\xff", [("X-L", "\u00e9\t")])
    pay(gateway, ["bytes"])
    upstream.reply = answer(201, b"z" * 900000)
    pay(gateway, ["large"])
    ledger.wait_whole()
    text, raw, large = answers(ledger)
    equal((text["status"], text["body"]), (201, '{"id": "ch_1"}'))
    assert ["X-A", "b"] in text["headers"], text
    equal(raw["body_base64"], "AP8=")
    assert ["X-L", "\u00e9"] in raw["headers"], raw
    equal(len(large["body"]), 900000)


@test
def an_answer_that_is_no_longer_kept_is_null(bench):
    upstream, config, ledger = begin(
        bench, idempotency={"retention": "1s"}, answer=True)
    relays = config.pop("relays")
    config["store"]["events"] = {"maxlen": 1000}
    gateway = bench.serve(config)
    pay(gateway, ["a"])
    gateway.stop()
    eventually(lambda: not [name for name in bench.redis.keys()
                            if b":r:" in name], "the record is gone")
    config["relays"] = relays
    bench.serve(config)
    ledger.wait_whole()
    equal(answers(ledger), [None])


@test
def an_answer_that_is_larger_than_all_memory_is_left_out(bench):
    upstream, config, ledger = begin(
        bench, answer(201, bytes(range(256)) * 12288),
        {"max_response_body": "4MiB"}, answer=True)
    relays = config.pop("relays")
    config["store"]["events"] = {"maxlen": 1000}
    gateway = bench.serve(config)
    pay(gateway, ["a"])
    gateway.stop()
    config["relays"] = relays
    config["routes"][0]["idempotency"]["max_response_body"] = "256KiB"
    config["limits"] = {"in_flight_bytes": "2MiB"}
    upstream.reply = answer(201, b"small")
    gateway = bench.serve(config)
    pay(gateway, ["b"])
    ledger.wait_whole()
    equal([one and one["body"] for one in answers(ledger)], [None, "small"])


@each([("another status", 422), ("the same one", 201)])
def the_answer_of_a_later_record_of_its_key_is_not_the_events(bench, status):
    """The key was deleted, and executed again before the relay looked."""
    upstream, config, ledger = begin(
        bench, answer(status, b"first"), answer=True)
    config["admin"] = {"listen": "127.0.0.1:0"}
    gateway = bench.serve(config)
    admin = Admin(gateway)
    equal(admin.post("/relays/ledger/pause").status, 200)
    gateway.wait_for_log("relay_paused")
    equal(gateway.ask("a").status, status)
    key_id, = {key[-32:].decode() for key in bench.redis.keys()
               if b":r:" in key}
    equal(admin.send("DELETE", "/keys/" + key_id).status, 200)
    executed = int(bench.redis("TIME")[0])
    eventually(lambda: int(bench.redis("TIME")[0]) > executed + 1,
               "more than a second is over")
    upstream.reply = answer(201, b"second")
    equal(gateway.ask("a").body, b"second")
    equal(admin.post("/relays/ledger/resume").status, 200)
    ledger.wait_for(4)
    equal([row["answer"] and row["answer"]["body"] for row in ledger.rows()
           if row["to"] == "COMPLETED"], [None, "second"])


@test
def a_relay_is_added_changed_and_taken_away_by_a_reload(bench):
    upstream, config, ledger = begin(bench)
    relays = config.pop("relays")
    config["store"]["events"] = {"maxlen": 1000}
    gateway = bench.serve(config)
    pay(gateway, ["a"])

    def reload(relays):
        load(gateway, {**config, "relays": relays}, "reloaded")
    reload(relays)
    ledger.wait_whole()
    other = Ledger(ledger.postgres, ledger.redis, SHARDS, "other")
    reload({"ledger": {**relays["ledger"], "table": "other"}})
    equal(len(other.wait_whole()), 2)
    reload({})
    pay(gateway, ["b"])
    reload(relays)
    equal(len(ledger.wait_whole()), 4)


@test
def the_first_relay_needs_a_start_where_there_are_no_events(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve({**config, "relays": {}})
    line = load(gateway, config, "reload_refused")
    assert "/relays" in str(line), line


@test
def a_table_that_is_there_needs_no_right_to_make_one(bench):
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, ["a"])
    ledger.wait_whole()
    gateway.stop()
    ledger.postgres(
        "CREATE ROLE gate LOGIN; "
        "GRANT SELECT, INSERT, UPDATE ON ledger, ledger_position TO gate; "
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    config["brokers"]["shop"]["postgres"] = ledger.postgres.url.replace(
        "postgres@", "gate@")
    gateway = bench.serve(config)
    pay(gateway, ["b"])
    equal(len(ledger.wait_whole()), 4)


@test
def a_table_with_other_columns_is_said(bench):
    upstream, config, ledger = begin(bench)
    ledger.postgres("CREATE TABLE ledger (id text PRIMARY KEY)")
    gateway = bench.serve(config)
    line = gateway.wait_for_log("relay_down")
    assert "key_id" in line["error"], line
    pay(gateway, ["a"])

@test
def a_row_that_the_table_refuses_is_said_and_nothing_is_lost(bench):
    """By a constraint of its owner's, of one event among others."""
    upstream, config, ledger = begin(bench)
    gateway = bench.serve(config)
    pay(gateway, ["a"])
    bad = ledger.wait_whole()[0]["key_id"]
    gateway.stop()
    ledger.postgres(
        "DROP TABLE ledger, ledger_position; "
        f"{TABLE}, CONSTRAINT no_such_key "
        f"CHECK (key_id <> '{bad}' OR \"to\" <> 'COMPLETED'))")
    gateway = bench.serve({**config, "admin": {"listen": "127.0.0.1:0"}})
    pay(gateway, [f"k{n}" for n in range(20)])

    def error():
        return Admin(gateway).get("/relays")["relays"][0].get("error", "")
    eventually(lambda: "no_such_key" in error(), "it is said")
    named = error().split()[1].rstrip(":")
    told = gateway.wait_for_log("relay_down")
    assert "no_such_key" in told["error"], told
    equal(ledger.rows(), [])
    ledger.postgres("ALTER TABLE ledger DROP CONSTRAINT no_such_key")
    rows = ledger.wait_whole()
    equal(len(rows), 42)
    equal([(r["key_id"], r["to"]) for r in rows if r["id"] == named],
          [(bad, "COMPLETED")])
    eventually(lambda: error() == "", "it is over")


@test
def a_user_with_the_line_of_acl_may_do_all_that_relays_need(bench):
    redis = bench.own_redis()
    upstream, config, ledger = begin(bench, redis=redis, answer=True)
    config["store"] = {**config["store"], "user": "gate", "password": "pw",
                       "events": {"maxlen": 100, "overflow": "refuse"}}
    config["store"]["shards"] = 1
    ledger.shards = 1
    file = bench.file(json.dumps(config).encode())
    rules = command("doctor", "-c", file, "--acl").stdout.split()
    redis("ACL", "SETUSER", "gate", "on", ">pw",
          *[rule for rule in rules if rule[0] in "~&+"])
    gateway = bench.serve(config)
    gateway.wait_for_log("relay_up")
    for turn in range(4):
        # How far the relay is, is heard a moment after its rows are there.
        for n in range(40):
            eventually(lambda: gateway.ask(f"{turn}-{n}").status == 201,
                       "relays have brought what there is")
        ledger.wait_for(80 * (turn + 1))
    eventually(lambda: redis("EXISTS", "onceproxy:{0}:relayed"), "it is there")
    assert redis("XLEN", "onceproxy:{0}:events") < 320
    equal([line for line in gateway.find_log("store_refused")], [])
    equal([line for line in gateway.find_log("event_lost")], [])


if programs() is None or is_without("postgres"):
    print("1..0 # SKIP no PostgreSQL")
else:
    tap.main()
