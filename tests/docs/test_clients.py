# SPDX-License-Identifier: BSD-2-Clause
"""onceproxy-clients(7): each example does what the page says, while answers
are lost on the way."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

from once import tap
from once.demo import PaymentApi
from once.manual import Examples, page, plain
from once.tap import Skip, each, equal, test
from once.upstream import answer, refused_port
from once.wait import eventually

EXAMPLES = Examples("onceproxy-clients.7")
HERE = "127.0.0.1:8080"  # where the page has the gateway


def losing_answers(bench, times=None):
    """A demo API, a gateway, and a proxy that cuts the gateway's answers."""
    api = bench.process(PaymentApi())
    gateway = bench.gateway(api.url)
    proxy = bench.proxy(gateway.address)
    proxy.cut_replies(every=1 if times else 2, times=times)
    return api, gateway, proxy


def run(argv, folder, **more):
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True,
                          check=False, **more)
    equal(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout


def shell(bench, name, address, folder=None):
    text = EXAMPLES.take(name, {HERE: address})
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    return run(["sh", "-euc", text], folder or bench.folder())


@test
def the_curl_of_the_page_tries_again_with_the_key_of_its_file(bench):
    api, gateway, proxy = losing_answers(bench, times=1)
    folder = bench.folder()
    shell(bench, "pay.sh", proxy.address, folder)
    equal(proxy.cuts, 1)
    with open(os.path.join(folder, "order-17.json"), encoding="utf-8") as file:
        first = file.read()
    equal(json.loads(first)["id"], "ch_1")
    shell(bench, "pay.sh", proxy.address, folder)
    equal(len(api.charges()), 1)
    gateway.wait_for_log("request", outcome="executed")
    gateway.wait_for_log("request", outcome="replayed")


@test
def prefer_wait_gets_the_answer_of_the_first_request(bench):
    upstream, gateway = bench.pair(idempotency={"wait_timeout": "20s"},
                                   log={"level": "debug"})
    hold = upstream.hold()
    first = bench.background(shell, bench, "wait.sh", gateway.address)
    hold.wait_arrived()
    retry = bench.background(shell, bench, "wait.sh", gateway.address)
    gateway.wait_for_steps("WAITED", 1)
    hold.release()
    for task in (first, retry):
        assert "201" in task.result().split("\n")[0], task.value
    equal(upstream.count(), 1)


def with_paths(bench, upstream):
    """A gateway with the paths that the page asks at."""
    config = bench.config(upstream)
    config["routes"][0].update({
        "status_path": "/v1/charges/idempotency/{key}",
        "policy_path": "/.well-known/idempotency"})
    return bench.serve(config)


@test
def what_became_of_a_key_is_told_as_the_page_says(bench):
    upstream = bench.upstream()
    gateway = with_paths(bench, upstream)

    def state():
        return json.loads(shell(bench, "ask.sh", gateway.address))
    equal(state(), {"state": "none"})
    hold = upstream.hold()
    first = bench.background(shell, bench, "wait.sh", gateway.address)
    hold.wait_arrived()
    equal(state(), {"state": "in-flight", "retry_after": 1})
    hold.release()
    first.result()
    equal(state(), {"state": "completed", "status": 201})
    shown = re.findall(r"state.\(dq: .\(dq([a-z-]+)",
                       plain(page("onceproxy-clients.7")))
    equal(sorted(shown), ["completed", "failed", "in-flight", "none",
                          "unknown"])


@test
def the_policy_is_told_as_the_page_says(bench):
    gateway = with_paths(bench, bench.upstream())
    said = json.loads(shell(bench, "policy.sh", gateway.address))
    equal((said["header"], said["scope"], said["max_length"],
           said["status_path"]),
          (["Idempotency-Key"], ["Authorization"], 255,
           "/v1/charges/idempotency/{key}"))
    assert {"fingerprint", "retention", "statuses"} <= set(said), said
    words = {"nothing happened": {"release", "forget"},
             "nobody knows": {"unknown"}}
    shown = {status: words[means] for statuses, means in re.findall(
                 r"\.It (.*)\n(no\w+ \w+): a retry",
                 page("onceproxy-clients.7"))
             for status in re.findall(r"\d+", statuses)}
    outcomes = said["outcomes"]
    equal({s for s in outcomes if outcomes[s] != "store"}, set(shown))
    equal([s for s, may in shown.items() if outcomes[s] not in may], [])


# --- the loop, in each language ---
#
# Each program pays an order and a body after the other, as its arguments have
# them, and prints the words and the statuses (0: none).

PYTHON = """
import sys
for order, body in zip(sys.argv[1::2], sys.argv[2::2]):
    word, got = pay(order, body)
    print(word, getattr(got, "status_code", 0))
"""
NODE = """
(async () => {
  const given = process.argv.slice(1);
  while (given.length > 0) {
    const [word, got] = await pay(...given.splice(0, 2));
    console.log(word, got.status || 0);
  }
  process.exit();
})();
"""
GO = """package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	for i := 1; i < len(os.Args); i += 2 {
		word, answer, _ := pay(os.Args[i], os.Args[i+1])
		status := 0
		if answer != nil {
			status = answer.StatusCode
		}
		fmt.Println(word, status)
	}
}

"""
JAVA = """
class Main {
    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < args.length; i += 2) {
            Pay.Result got = Pay.pay(args[i], args[i + 1]);
            System.out.println(got.word() + " " + (got.answer() == null
                ? 0 : got.answer().statusCode()));
        }
    }
}

"""


def in_python(library):
    def command(bench, address):
        text = EXAMPLES.take(library + ".py") + EXAMPLES.take(
            "pay.py", {HERE: address}) + PYTHON
        for python in (sys.executable, "/usr/bin/python3"):
            if subprocess.run([python, "-c", f"import {library}"], check=False,
                              capture_output=True).returncode == 0:
                return [python, "-c", text]
        raise Skip(f"no python3 with {library}")
    return command


def with_node(module=None):
    if not shutil.which("node"):
        raise Skip("there is no node")
    modules = os.environ.get("NODE_PATH", "")
    if module and not os.path.isdir(os.path.join(modules, module)):
        raise Skip(f"node has no {module} (contrib/check)")


def in_node(name, module=None):
    def command(bench, address):
        text = EXAMPLES.take(name) + EXAMPLES.take("pay.js", {HERE: address})
        with_node(module)
        return ["node", "-e", text + NODE]
    return command


def in_go(bench, address):
    text = GO + EXAMPLES.take("pay.go", {HERE: address})
    if not shutil.which("go"):
        raise Skip("there is no go")
    main = bench.file(text.encode(), "main.go")
    pay = os.path.join(bench.folder(), "pay")
    run(["go", "build", "-o", pay, main], os.path.dirname(main), env={
        **os.environ, "GOTOOLCHAIN": "local"})
    return [pay]


def in_java(bench, address):
    imports, pay = EXAMPLES.take("Pay.java", {HERE: address}).split("\n\n", 1)
    if not shutil.which("javac"):
        raise Skip("there is no Java compiler")
    return ["java", bench.file((imports + JAVA + pay).encode(), "Main.java")]


LANGUAGES = [("requests", in_python("requests")),
             ("httpx", in_python("httpx")), ("fetch", in_node("fetch.js")),
             ("axios", in_node("axios.js", "axios")), ("Go", in_go),
             ("Java", in_java)]
ORDER = '{"amount": 1000}'


def pay(bench, language, address, *orders):
    """What became of orders (with their bodies), in words."""
    argv = language(bench, address)
    return run([*argv, *orders], bench.folder()).splitlines()


@each(LANGUAGES)
def the_loop_of_the_page_pays_each_order_once(bench, language):
    api, gateway, proxy = losing_answers(bench)
    said = pay(bench, language, proxy.address, "order-1", ORDER,
               "order-2", ORDER, "order-1", ORDER.replace("1", "2"))
    equal(said, ["done 201", "done 201", "refused 422"])
    equal(len(api.charges()), 2)
    assert proxy.cuts >= 1, proxy.cuts


@each(LANGUAGES)
def the_loop_of_the_page_waits_as_it_is_told(bench, language):
    """Longer than it would by itself, also by a problem of the API's own; what
    nobody knows is pending, and so is what has no token that is good, or is to
    wait for longer than a minute; nothing is asked more than three times."""
    came = {}

    def script(connection, request):
        order = request.get("Idempotency-Key").removesuffix("-charge")
        times = came.setdefault(order, [])
        times.append(time.monotonic())
        if order == "lost":
            return connection.close()
        own = [("Content-Type", "application/problem+json")]
        after = "61" if order == "closed" else "2"
        busy = answer(503, b"{}", [("Retry-After", after), *own])
        return connection.send(
            answer(401, b"{}") if order == "token" else
            busy if len(times) == 1 else answer(500, b"{}", own))
    _, gateway = bench.pair(script)
    equal(pay(bench, language, gateway.address, "busy", ORDER,
              "token", ORDER, "closed", ORDER, "lost", ORDER),
          ["done 500", "pending 401", "pending 503", "pending 409"])
    first, second = came["busy"]
    assert second - first > 1.9, came
    equal([len(came[n]) for n in ("token", "closed", "lost")], [1, 1, 1])
    eventually(lambda: len(gateway.find_log(
        "request", outcome="unknown")) == 3, "three tries have ended so")


@each(LANGUAGES)
def the_loop_of_the_page_takes_what_was_passed_on_for_pending(bench, language):
    """A route that only observes keeps no key: the API may have paid."""
    upstream = bench.upstream(
        lambda connection, request: connection.close())
    config = bench.config(upstream)
    config["routes"][0]["mode"] = "observe"
    gateway = bench.serve(config)
    equal(pay(bench, language, gateway.address, "order-1", ORDER),
          ["pending 502"])
    equal(upstream.count(), 1)


@each(LANGUAGES)
def the_loop_of_the_page_takes_no_answer_for_pending(bench, language):
    listener, port = refused_port()
    with listener:
        equal(pay(bench, language, f"127.0.0.1:{port}", "order-1", ORDER),
              ["pending 0"])


@test
def the_curl_of_the_page_waits_as_it_is_told(bench):
    """And stops where it is pointless to go on."""
    came = []

    def script(connection, request):
        came.append(time.monotonic())
        connection.send(answer(503, b"{}", [("Retry-After", "2")])
                        if len(came) == 1 else answer(402, b"{}"))
    upstream, gateway = bench.pair(script)
    folder = bench.folder()
    equal(shell(bench, "pay.sh", gateway.address, folder), "402\n")
    assert came[1] - came[0] > 1.9, came
    with open(os.path.join(folder, "order-17.key"), "w",
              encoding="ascii") as out:
        out.write("a,b")
    equal(shell(bench, "pay.sh", gateway.address, folder), "400\n")
    eventually(lambda: len(gateway.find_log("request")) == 3, "three tries")
    equal(upstream.count(), 2)


@test
def stripe_node_pays_once(bench):
    api, gateway, proxy = losing_answers(bench)
    text = EXAMPLES.take("stripe.js", {
        "port: 8080": f"port: {proxy.port}",
        "require('stripe')":
            "[require('stripe')].map((s) => s.default || s)[0]"})
    with_node("stripe")
    text += """
(async () => {
  const said = [];
  for (const id of ['order-1', 'order-2', 'order-1'])
    said.push(await pay({id, amount: 1000}));
  console.log(JSON.stringify(said));
  process.exit();
})();
"""
    said = json.loads(run(["node", "-e", text], bench.folder()))
    equal(said, [{"paid": "ch_1"}, {"paid": "ch_2"}, {"paid": "ch_1"}])
    equal(len(api.charges()), 2)


@test
def every_example_of_the_page_was_tried(bench):
    EXAMPLES.all_were_tried()


tap.main()
