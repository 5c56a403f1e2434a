# SPDX-License-Identifier: BSD-2-Clause
"""The standardwebhooks package of the npm registry, which is not ours, verifies
the signatures of webhooks; those by Ed25519, which it does not know, node's
crypto.  contrib/check installs it where there are node and npm."""

import base64
import json
import os
import shutil

from once import tap
from once.demo import source
from once.process import Process
from once.tap import equal, test
from once.wait import eventually
from once.webhooks import secret

COUNT = 20


def receiver(bench, *args):
    modules = os.environ.get("NODE_PATH", "")
    if not shutil.which("node"):
        raise tap.Skip("no node program")
    if not os.path.isdir(os.path.join(modules, "standardwebhooks")):
        raise tap.Skip("standardwebhooks is not installed (contrib/check)")
    process = bench.process(Process(
        ["node", source("tests/node/receiver.js"), *args]))
    eventually(lambda: process.lines, "it listens")
    return process, int(process.lines[0])


def seed():
    return "whsk_" + base64.b64encode(os.urandom(32)).decode()


def posted(bench, port, secrets, **members):
    config = bench.config(bench.upstream())
    config["relays"] = {"hooks": {
        "webhook": f"http://127.0.0.1:{port}/", "secrets": secrets,
        **members}}
    gateway = bench.serve(config)
    for number in range(COUNT):
        equal(gateway.ask(f"k{number}").status, 201)


def heard(process):
    eventually(lambda: len(process.lines) > 2 * COUNT, "all came")
    said = [json.loads(line) for line in process.lines[1:]]
    equal(len({event["id"] for event in said}), 2 * COUNT)
    return said


@test
def what_is_not_ours_verifies_both_signatures(bench):
    shared, private = secret(), seed()
    process, port = receiver(bench, shared, private)
    posted(bench, port, [shared, private], answer=True)
    for event in heard(process):
        equal((event["hmac"], event["ed25519"], event["changed"]),
              (True, True, False))


@test
def a_receiver_knows_either_secret_of_a_rotation(bench):
    before, after, private = secret(24), secret(64), seed()
    process, port = receiver(bench, before, private)
    posted(bench, port, [after, before])
    for event in heard(process):
        equal((event["hmac"], event["ed25519"]), (True, False))


@test
def another_secret_is_not_believed(bench):
    process, port = receiver(bench, secret(), seed())
    posted(bench, port, [secret(), seed()])
    for event in heard(process):
        equal((event["hmac"], event["ed25519"]), (False, False))


tap.main()
