# SPDX-License-Identifier: BSD-2-Clause
"""What the field met, through the clients that met it: requests, httpx, axios,
node's fetch, curl, a browser; and a real FastAPI."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys

from once import tap
from once.browser import new_window
from once.process import Process
from once.tap import Skip, each, equal, test
from once.upstream import answer

TENANT = "Bearer t"

# Each takes a URL, headers and a body's kind, and prints status, whether it is
# a replay, and the answer's text.
PYTHON = """
import json, sys
import {} as library
url, headers, kind = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
body = {{"json": {{"json": {{"id": "tr_1"}}}},
        "upload": {{"files": {{"f": b"x"}}, "data": {{"id": "tr_1"}}}},
        "form": {{"data": {{"id": "tr_1", "b": "2"}}}},
        "turned": {{"data": {{"b": "2", "id": "tr_1"}}}}}}[kind]
with library.{} as client:
    got = client.post(url, headers=headers, **body)
print(json.dumps([got.status_code, got.headers.get("Idempotent-Replayed"),
                  got.text]))
"""

NODE = """
const [url, headers, kind] = process.argv.slice(1);
const upload = new FormData();
upload.append('f', new Blob(['x']), 'f');
upload.append('id', 'tr_1');
const body = {
  json: {id: 'tr_1'}, upload, form: new URLSearchParams('id=tr_1&b=2'),
  turned: new URLSearchParams('b=2&id=tr_1')}[kind];
post(url, JSON.parse(headers), body).then(
  (said) => console.log(JSON.stringify(said)));
"""

FETCH = NODE + """
async function post(url, headers, body) {
  if (kind === 'json') {
    headers['Content-Type'] = 'application/json';
    body = JSON.stringify(body);
  }
  const got = await fetch(url, {method: 'POST', headers, body});
  return [got.status, got.headers.get('idempotent-replayed'),
    await got.text()];
}
"""

AXIOS = NODE + """
async function post(url, headers, body) {
  const got = await require('axios').post(url, body, {
    headers, validateStatus: () => true, transformResponse: (text) => text});
  return [got.status, got.headers['idempotent-replayed'] || null, got.data];
}
"""

CURL_BODIES = {
    "json": ["-H", "Content-Type: application/json", "-d", '{"id": "tr_1"}'],
    "upload": ["-F", "f=x", "-F", "id=tr_1"],
    "form": ["-d", "id=tr_1", "-d", "b=2"],
    "turned": ["-d", "b=2", "-d", "id=tr_1"]}


def python_with(*modules):
    """A python3 that has them: the test's, or the system's."""
    for program in (sys.executable, "/usr/bin/python3"):
        done = subprocess.run([program, "-c", "import " + ", ".join(modules)],
                              capture_output=True, check=False)
        if done.returncode == 0:
            return program
    raise Skip("no python3 with " + " and ".join(modules))


def node_with(module=None):
    if not shutil.which("node"):
        raise Skip("there is no node")
    if module and not os.path.isdir(
            os.path.join(os.environ.get("NODE_PATH", ""), module)):
        raise Skip(f"{module} is not installed (contrib/check)")
    return "node"


def run(argv):
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    equal(done.returncode, 0, done.stdout + done.stderr)
    return done.stdout


def argv_of(client):
    if client == "requests":
        return [python_with("requests"), "-c",
                PYTHON.format("requests", "Session()")]
    if client == "httpx":
        return [python_with("httpx"), "-c",
                PYTHON.format("httpx", "Client(follow_redirects=True)")]
    if client == "fetch":
        return [node_with(), "-e", FETCH]
    return [node_with("axios"), "-e", AXIOS]


def curl(url, *args):
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    said = run(["curl", "-sL", "-w", "\n%{http_code} "
                "%header{idempotent-replayed}", *args, url])
    text, _, last = said.rpartition("\n")
    status, replayed = last.split(" ")
    return [int(status), replayed or None, text]


def post(client, gateway, key, kind="json", path="/v1/charges"):
    """[status, "true" or None, the answer's text]."""
    headers = {"Authorization": TENANT}
    if key:
        headers["Idempotency-Key"] = key
    url = f"http://{gateway.address}{path}"
    if client == "curl":
        fields = [word for name, value in headers.items()
                  for word in ("-H", f"{name}: {value}")]
        return curl(url, *fields, *CURL_BODIES[kind])
    return json.loads(run([*argv_of(client), url, json.dumps(headers), kind]))


CLIENTS = [(name, name)
           for name in ("requests", "httpx", "fetch", "axios", "curl")]
MADE = '{"id":"ch_1"}'


# --- an API that redirects ---

FASTAPI = """
import fastapi, uvicorn
app, made = fastapi.FastAPI(), []

@app.post("/v1/charges/", status_code=201)
def charge():
    made.append(1)
    return {"made": len(made)}

uvicorn.run(app, host="127.0.0.1", port=0)
"""


@each(CLIENTS)
def who_follows_a_redirect_of_fastapi_is_answered(bench, client):
    api = bench.process(Process(
        [python_with("fastapi", "uvicorn"), "-c", FASTAPI]))
    line = api.wait_for_line("running on http")
    gateway = bench.gateway(re.search(r"http://[\d.:]+", line)[0])
    for key, made, replayed in (
            ("k", 1, None), ("k", 1, "true"), ("l", 2, None)):
        equal(post(client, gateway, key),
              [201, replayed, f'{{"made":{made}}}'])


# --- bodies that are written anew each time ---

@each(CLIENTS)
def an_upload_that_is_sent_again_is_answered(bench, client):
    upstream, gateway = bench.pair()
    equal(post(client, gateway, "k", "upload"), [201, None, MADE])
    equal(post(client, gateway, "k", "upload"), [201, "true", MADE])
    first, = upstream.requests
    assert b'name="f"' in first.body and b"tr_1" in first.body, first.body


@each(CLIENTS)
def a_form_in_another_order_is_the_same(bench, client):
    upstream, gateway = bench.pair(
        idempotency={"fingerprint": {"json": True}})
    equal(post(client, gateway, "k", "form"), [201, None, MADE])
    equal(post(client, gateway, "k", "turned"), [201, "true", MADE])
    equal(upstream.count(), 1)


@each(CLIENTS)
def a_field_of_a_form_makes_the_key(bench, client):
    """Also of who makes a new key for each try."""
    upstream, gateway = bench.pair(idempotency={
        "derive_key": ["/id"], "header": [], "fingerprint": {"only": ["/id"]}})
    for number, kind in enumerate(("form", "turned", "form")):
        equal(post(client, gateway, f"k{number}", kind),
              [201, "true" if number else None, MADE])
    equal(upstream.count(), 1)


@test
def what_was_gzipped_anew_is_the_same(bench):
    upstream, gateway = bench.pair()
    for number, level in enumerate((1, 9)):
        file = bench.file(gzip.compress(
            b'{"id": "tr_1"}' * 99, level, mtime=number))
        equal(curl(f"http://{gateway.address}/v1/charges", "-H",
                   f"Authorization: {TENANT}", "-H", "Idempotency-Key: k",
                   "-H", "Content-Encoding: gzip", "--data-binary",
                   "@" + file), [201, "true" if number else None, MADE])
    equal(upstream.count(), 1)


# --- answers ---

@test
def an_answer_suits_who_takes_no_coding(bench):
    def reply(connection, request):
        coded = "gzip" in (request.get("Accept-Encoding") or "")
        connection.send(answer(
            201, gzip.compress(MADE.encode()) if coded else MADE.encode(),
            [("Content-Encoding", "gzip")] if coded else []))
    upstream, gateway = bench.pair(reply)
    args = (f"http://{gateway.address}/v1/charges", "-H",
            f"Authorization: {TENANT}", "-H", "Idempotency-Key: k", "-d", "{}")
    equal(curl(*args, "--compressed"), [201, None, MADE])
    equal(curl(*args), [201, "true", MADE])
    equal(upstream.count(), 1)


@each(CLIENTS)
def who_was_told_429_five_times_is_let_in(bench, client):
    upstream, gateway = bench.pair(answer(429, b"", [("Retry-After", "1")]))
    for _ in range(6):
        equal(post(client, gateway, "k")[0], 429)
    upstream.reply = answer()
    equal(post(client, gateway, "k"), [201, None, MADE])


# --- a browser ---

PAY = """
return fetch(arguments[0], {method: 'POST', body: arguments[2], headers: {
  'Authorization': 'Bearer t', 'Idempotency-Key': arguments[1],
  'Content-Type': 'application/json'}}).then(async (got) => [
    got.status, got.headers.get('Idempotent-Replayed'), await got.text()],
  (error) => [0, null, String(error)]);
"""


@test
def pages_of_the_origins_that_are_named_pay(bench):
    page = answer(200, b"<title>shop</title>", [("Content-Type", "text/html")])
    shops = [bench.upstream(page) for _ in range(3)]
    upstream, gateway = bench.pair(idempotency={
        "cors": {"origins": [shops[0].url, shops[1].url]}})
    browser = new_window()

    def pay(shop, key="k", body="{}"):
        browser.open(shop.url)
        return browser.run(
            PAY, f"http://{gateway.address}/v1/charges", key, body)
    equal(pay(shops[0]), [201, None, MADE])
    equal(pay(shops[1]), [201, "true", MADE])
    status, _, said = pay(shops[0], body='{"a": 1}')
    equal((status, json.loads(said)["type"].rsplit(":", 1)[-1]),
          (422, "key-reused"))
    equal(pay(shops[2])[0], 0)
    equal(pay(shops[2], "other")[0], 0)
    equal(upstream.count(), 1)


tap.main()
