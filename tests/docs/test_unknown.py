# SPDX-License-Identifier: BSD-2-Clause
"""onceproxy-unknown(7): each example does what the page says: a witness in
each language against a real PostgreSQL; reconcile with an API that is slow, and
one whose word for an unknown order is its own."""

import base64
import json
import os
import shlex
import shutil
import subprocess
import sys

from once import tap
from once.admin import Admin
from once.demo import PaymentApi, source
from once.gateway import command
from once.manual import Examples
from once.postgres import programs
from once.tap import Skip, each, equal, test
from once.upstream import answer, then_close
from once.wait import eventually

EXAMPLES = Examples("onceproxy-unknown.7")
ORDER = b'{"order_id": "o-17", "amount": 5}'


def in_doubt(bench, name):
    """An unknown outcome, on a route as printed but for settle."""
    policy = json.loads("{" + EXAMPLES.take(name) + "}")["idempotency"]
    long_form = policy["on_unknown"]["reconcile"]
    assert long_form["settle"] in ("60s", "2m", "5m"), long_form
    upstream = bench.upstream(then_close(b""))
    early = bench.gateway(upstream, idempotency=policy)
    key = None if "derive_key" in policy else "k"
    equal(early.ask(key, body=ORDER).status, 502)
    equal(early.ask(key, body=ORDER).problem, "outcome-unknown")
    equal([r.method for r in upstream.requests], ["POST"])
    long_form["settle"] = "10ms"
    gateway = bench.gateway(upstream, idempotency=policy)
    return upstream, gateway, key


@test
def by_key_retries_get_the_status_of_the_first(bench):
    upstream, gateway, key = in_doubt(bench, "by-key")
    upstream.reply = answer(200, b"made")
    eventually(lambda: gateway.ask(key, body=ORDER).status == 201)
    equal(gateway.ask(key, body=ORDER).body, b"made")
    equal(upstream.requests[-1].target, "/v1/charges/by-key/k")


@test
def by_order_only_the_apis_own_word_executes(bench):
    upstream, gateway, key = in_doubt(bench, "by-order")
    path = "/v1/orders/o-17/charge"
    upstream.replies[path] = answer(404)
    upstream.reply = answer()
    eventually(lambda: gateway.ask(key, body=ORDER).status == 409
               and upstream.count(path))
    equal(upstream.count(method="POST"), 1)
    upstream.replies[path] = answer(409)
    equal(gateway.ask(key, body=ORDER).status, 201)
    equal(upstream.count(method="POST"), 2)


@test
def the_api_knows_a_derived_key_that_was_sent(bench):
    upstream, gateway, key = in_doubt(bench, "derived")
    upstream.reply = answer(200, b"made")
    eventually(lambda: gateway.ask(key, body=ORDER).body == b"made")
    sent = upstream.requests[0].get("Idempotency-Key")
    equal(upstream.requests[-1].target, f"/v1/charges/by-key/{sent}")


@test
def a_made_up_key_shows_what_the_api_says(bench):
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    api = bench.process(PaymentApi())
    text = EXAMPLES.take("made-up.sh", {
        "http://127.0.0.1:9000": api.url})
    done = subprocess.run(["sh", "-euc", text], capture_output=True,
                          text=True, check=True)
    assert done.stdout.startswith("HTTP/1.1 404"), done.stdout


# --- the witness, in SQL ---

def shop(bench, *more):
    """A database whose tables are the page's, made by these examples too."""
    if not programs():
        raise Skip("there is no PostgreSQL")
    postgres = bench.postgres_for_all
    postgres("CREATE ROLE api LOGIN; CREATE ROLE onceproxy LOGIN; "
             "CREATE TABLE payments (id bigint GENERATED ALWAYS AS IDENTITY, "
             "amount bigint NOT NULL)")
    for name in ("witness.sql", *more):
        postgres(EXAMPLES.take(name))
    return postgres


def as_role(role, *statements):
    """In one transaction."""
    return "; ".join(("BEGIN", f"SET LOCAL ROLE {role}", *statements,
                      "COMMIT"))


def refused(postgres, sql, words):
    done = postgres.psql(sql)
    assert done.returncode != 0 and words in done.stderr, done


def prepared(name, *values):
    """An example with $1, $2, as a statement with these values."""
    text = EXAMPLES.take(name).rstrip().rstrip(";")
    for number, value in enumerate(values, 1):
        assert f"${number}" in text, text
        text = text.replace(f"${number}", repr(value))
    return text


PAYMENT = "INSERT INTO payments (amount, key_id, attempt) VALUES (5, 'k', 1)"
REVOKES = "INSERT INTO onceproxy_witness VALUES ('k', 1, 'revoked')"


@test
def a_payment_and_its_witness_are_there_or_neither(bench):
    postgres = shop(bench, "payments.sql", "grants.sql")
    witness = prepared("insert.sql", "k", 1)
    refused(postgres, as_role("api", PAYMENT), "violates foreign key")
    postgres(as_role("api", PAYMENT, witness))
    refused(postgres, as_role("api", PAYMENT, witness), "violates unique")
    equal(postgres("SELECT verdict, status FROM onceproxy_witness"),
          ["done|201"])
    equal(postgres("SELECT count(*) FROM payments"), ["1"])


@test
def what_is_revoked_cannot_be_paid(bench):
    postgres = shop(bench, "payments.sql", "grants.sql")
    postgres(as_role("onceproxy", REVOKES))
    witness = prepared("insert.sql", "k", 1)
    refused(postgres, as_role("api", PAYMENT, witness), "_pkey")
    for passed_by in (f"{witness} ON CONFLICT DO NOTHING", "SELECT 1"):
        refused(postgres, as_role("api", PAYMENT, passed_by),
                "violates foreign key")
    refused(postgres, as_role(
        "api", PAYMENT, "UPDATE onceproxy_witness SET verdict = 'done'"),
        "permission denied")
    equal(postgres("SELECT count(*) FROM payments"), ["0"])


@test
def old_payments_get_a_witness_each(bench):
    postgres = shop(bench)
    postgres("INSERT INTO payments (amount) VALUES (1), (2)")
    postgres(EXAMPLES.take("old-columns.sql"))
    # The API that is there goes on, until the next one has its place.
    postgres("INSERT INTO payments (amount) VALUES (3)")
    postgres("; ".join((PAYMENT, prepared("insert.sql", "k", 1))))
    postgres(EXAMPLES.take("old-rows.sql"))
    equal(postgres("SELECT key_id, verdict FROM onceproxy_witness ORDER BY 1"),
          [f"before {n}|done" for n in (1, 2, 3)] + ["k|done"])
    refused(postgres, PAYMENT.replace("'k'", "'l'"), "violates foreign key")


@test
def what_is_started_is_done_unless_it_is_revoked(bench):
    postgres = shop(bench, "payments.sql", "grants.sql", "started-grants.sql")
    begins = "INSERT INTO onceproxy_witness VALUES ('k', 1, 'started')"
    goes_on = prepared("started.sql", "k", 1)
    postgres(as_role("api", begins))
    refused(postgres, as_role("api", PAYMENT), "violates foreign key")
    postgres(as_role("api", PAYMENT, goes_on))
    postgres("TRUNCATE payments, onceproxy_witness")
    postgres(as_role("api", begins))
    postgres(as_role("onceproxy", "UPDATE onceproxy_witness SET verdict = "
                     "'revoked' WHERE verdict = 'started'"))
    refused(postgres, as_role("api", PAYMENT, goes_on),
            "violates foreign key")


# --- the witness, in each language ---

def run(argv, folder, **env):
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True,
                          check=False, env={**os.environ, **env})


def with_psycopg():
    """A python3 that has it, as Debian's does."""
    for python in (sys.executable, "/usr/bin/python3"):
        if run([python, "-c", "import psycopg"], "/").returncode == 0:
            return python
    raise Skip("no python3 with psycopg")


def in_python(bench, postgres):
    text = EXAMPLES.take("pay.py") + """
import sys
url, key_id, attempt = sys.argv[1:]
print(pay(url, {"Idempotency-Key-Id": key_id,
                "Idempotency-Attempt": attempt}, 5)[1])
"""
    python = with_psycopg()
    return lambda *of: run([python, "-c", text, postgres.url.replace(
        "postgres@", "api@"), *of], bench.folder())


def in_node(bench, postgres):
    text = EXAMPLES.take("pay.js") + """
const {Pool} = require('pg');
const [host, keyId, attempt] = process.argv.slice(1);
const pool = new Pool({host, user: 'api', database: 'postgres'});
pay(pool, {'idempotency-key-id': keyId, 'idempotency-attempt': attempt}, 5)
  .then(([, body]) => console.log(body)).finally(() => pool.end());
"""
    if not shutil.which("node"):
        raise Skip("there is no node")
    if not os.path.isdir(os.path.join(os.environ.get("NODE_PATH", ""), "pg")):
        raise Skip("node has no pg (contrib/check)")
    return lambda *of: run(["node", "-e", text, postgres.folder, *of],
                           bench.folder())


JDBC = "/usr/share/java/postgresql.jar"
MAIN = """
class Main {
    public static void main(String[] args) throws SQLException {
        try (Connection db = DriverManager.getConnection(args[0])) {
            System.out.println(Pay.pay(db, args[1],
                Integer.parseInt(args[2]), 5));
        }
    }
}
"""


def in_java(bench, postgres):
    imports, pay = EXAMPLES.take("Pay.java").split("\n\n", 1)
    if not shutil.which("javac") or not os.path.exists(JDBC):
        raise Skip("there is no Java compiler with PostgreSQL's driver")
    proxy = bench.proxy(f"unix:{postgres.folder}/.s.PGSQL.5432",
                        unix=False)
    file = bench.file((imports + MAIN + pay).encode(), "Main.java")
    return lambda *of: run(
        ["java", "-cp", JDBC, file, f"jdbc:postgresql://{proxy.address}/"
         "postgres?user=api", *of], bench.folder())


GO = """package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"

	"github.com/jackc/pgx/v5"
)

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, os.Args[1])
	if err == nil {
		head := http.Header{}
		head.Set("Idempotency-Key-Id", os.Args[2])
		head.Set("Idempotency-Attempt", os.Args[3])
		var body []byte
		body, err = pay(ctx, db, head, 5)
		fmt.Println(string(body))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

"""


def in_go(bench, postgres):
    text = GO + EXAMPLES.take("pay.go")
    if not shutil.which("go"):
        raise Skip("there is no go")
    folder = bench.folder()
    for name in ("go.mod", "go.sum"):
        shutil.copy(source(f"tests/docs/pgx/{name}"), folder)
    with open(os.path.join(folder, "main.go"), "w", encoding="utf-8") as file:
        file.write(text)
    built = run(["go", "build", "-o", "pay", "."], folder, GOPROXY="off",
                GOFLAGS="-mod=readonly", GOTOOLCHAIN="local")
    if "module lookup disabled" in built.stderr:
        raise Skip("go has no pgx (contrib/check --all)")
    equal(built.returncode, 0, built.stderr)
    return lambda *of: run(["./pay", f"host={postgres.folder} user=api "
                            "dbname=postgres", *of], folder)


@each([("Python", in_python), ("JavaScript", in_node), ("Java", in_java),
       ("Go", in_go)])
def a_payment_is_made_with_its_witness_or_not_at_all(bench, language):
    postgres = shop(bench, "payments.sql", "grants.sql")
    pay = language(bench, postgres)
    done = pay("k", "2")
    equal(done.returncode, 0, done.stderr)
    equal(str(json.loads(done.stdout)["id"]), "1")  # pg of Node has texts
    equal(postgres("SELECT key_id, attempt, verdict, status, headers, "
                   "convert_from(body, 'UTF8') FROM onceproxy_witness"),
          ['k|2|done|201|{"Content-Type": "application/json"}|'
           + done.stdout.strip()])
    postgres(as_role("onceproxy", REVOKES))
    late = pay("k", "1")
    assert late.returncode != 0 and "_pkey" in late.stderr, late
    equal(postgres("SELECT key_id, attempt FROM payments"), ["k|2"])


# --- the gateway ---

def configuration(name, changes):
    return json.loads("{" + EXAMPLES.take(name, changes) + "}")


@test
def the_gateway_asks_the_database_of_the_page(bench):
    """Whose API is killed before its commit, and behind it."""
    if not programs():
        raise Skip("there is no PostgreSQL")
    postgres = bench.postgres_for_all
    api = bench.process(PaymentApi("--postgres", postgres.url,
                                   python=with_psycopg()))
    password = bench.file(b"none\n")
    members = configuration("witness", {
        "postgresql://onceproxy@db/shop": postgres.url,
        "/etc/onceproxy/shop-password": password, "payments": "charges"})
    gateway = bench.gateway(api.url, idempotency=members["defaults"],
                            brokers=members["brokers"],
                            admin={"listen": "127.0.0.1:0"})
    eventually(lambda: Admin(gateway).get("/status")["witnesses"][0][
        "state"] == "enforced", "the gateway has seen the witness")
    for number, when in enumerate(("before", "after"), 1):
        key, body = f"k{number}", json.dumps(
            {"amount": 5, "die": when}).encode()
        equal(gateway.ask(key, body=body).status, 502)
        eventually(lambda: gateway.ask(key, body=body).status == 201)
    equal(postgres("SELECT idempotency_key, attempt FROM charges ORDER BY 1"),
          ["k1|2", "k2|1"])


@test
def the_gateway_asks_in_the_background_as_the_page_says(bench):
    key, token = base64.b64encode(bytes(32)), b"Bearer own\n"
    members = configuration("background", {
        "/etc/onceproxy/store-2026": bench.file(key),
        "/etc/onceproxy/token": bench.file(token)})
    reconcile = members["defaults"]["on_unknown"]["reconcile"]
    equal(reconcile["settle"], "60s")
    reconcile["settle"] = "10ms"
    upstream = bench.upstream(then_close(b""))
    asked = "/v1/merchants/shop-7/charges/by-key/k"
    upstream.replies[asked] = answer(200, b"made")
    gateway = bench.gateway(upstream, idempotency=members["defaults"],
                            store=members["store"])
    tenant = "Basic " + base64.b64encode(b"shop-7:secret").decode()
    equal(gateway.ask("k", tenant=tenant).status, 502)
    upstream.wait_for(2)
    equal(upstream.requests[1].get("Authorization"), "Bearer own")
    eventually(lambda: gateway.ask("k", tenant=tenant).body == b"made")
    equal(upstream.count(method="POST"), 1)


@test
def the_commands_of_the_page_are_taken(bench):
    """They run until they ask a gateway, and there is none."""
    config = bench.config(bench.upstream(), admin={
        "listen": f"unix:{bench.folder()}/none"})
    file = bench.file(json.dumps(config).encode())
    changes = {"KEY_ID": "0" * 32, "answer.json": bench.file(b"{}")}
    lines = EXAMPLES.take("people.sh", changes) + EXAMPLES.take("trust.sh")
    for line in lines.splitlines():
        done = command(*shlex.split(line)[1:], "-c", file)
        equal(done.returncode, 1, line + done.stderr)


@test
def every_example_was_tried(bench):
    EXAMPLES.all_were_tried()


tap.main()
