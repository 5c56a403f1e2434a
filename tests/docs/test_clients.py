# SPDX-License-Identifier: BSD-2-Clause
"""onceproxy-clients(7): each example does what the page says, while answers
are lost on the way."""

import json
import os
import re
import shutil
import subprocess
import sys

from once import tap
from once.demo import PaymentApi
from once.manual import Examples, page, plain
from once.tap import Skip, equal, test
from once.upstream import answer

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


def run_python(bench, changes, more):
    text = EXAMPLES.take("pay.py", changes) + more
    try:
        import requests  # noqa: F401
    except ImportError:
        raise Skip("no python3 with requests") from None
    return run([sys.executable, "-c", text], bench.folder())


@test
def the_python_of_the_page_gets_each_answer_once(bench):
    api, gateway, proxy = losing_answers(bench)
    said = json.loads(run_python(bench, {HERE: proxy.address}, """
import json
import sys
out = []
for number in range(4):
    word, got = pay(f"order-{number}", '{"amount": 1000}')
    out.append([word, got.json()["id"]])
word, got = pay("order-0", '{"amount": 2000}')
out.append([word, got["error"]["code"]])
json.dump(out, sys.stdout)
"""))
    equal(said, [["done", f"ch_{n}"] for n in range(1, 5)]
          + [["refused", "key-reused"]])
    equal(len(api.charges()), 4)
    assert proxy.cuts >= 2, proxy.cuts


@test
def the_python_of_the_page_takes_the_unknown_for_pending(bench):
    api = bench.process(PaymentApi("--drop-every", "1"))
    gateway = bench.gateway(api.url)
    said = run_python(
        bench, {HERE: gateway.address, "total=2": "total=1"}, """
word, problem = pay("order-1", '{"amount": 1000}')
print(word, problem["error"]["code"])
""")
    equal(said, "pending outcome-unknown\n")
    equal(len(api.charges()), 1)


@test
def the_python_of_the_page_takes_no_answer_for_pending(bench):
    """Nor does it use up the attempts of a key at one go."""
    upstream, gateway = bench.pair(answer(503))
    changes = {HERE: gateway.address}
    said = run_python(bench, changes, """
print(pay("order-1", "{}")[0])
API = "http://127.0.0.1:1"
print(pay("order-2", "{}")[0])
""")
    equal(said, "pending\npending\n")
    upstream.reply = answer(200, b"")  # which has no Content-Type
    equal(run_python(bench, changes, 'print(pay("order-1", "{}")[0])'),
          "done\n")


@test
def the_javascript_of_the_page_pays_once(bench):
    api, gateway, proxy = losing_answers(bench)
    text = EXAMPLES.take("pay.js", {
        "port: 8080": f"port: {proxy.port}",
        "require('stripe')":
            "[require('stripe')].map((s) => s.default || s)[0]"})
    if not shutil.which("node"):
        raise Skip("there is no node")
    modules = os.environ.get("NODE_PATH", "")
    if not os.path.isdir(os.path.join(modules, "stripe")):
        raise Skip("the stripe client is not installed (contrib/check)")
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
