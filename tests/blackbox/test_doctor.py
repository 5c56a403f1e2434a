# SPDX-License-Identifier: BSD-2-Clause
"""Contract, section 2: `onceproxy doctor`.  What it looks at is real here, and
what it finds is cured as its text says; then it is quiet."""

import base64
import contextlib
import json
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import threading
import time

from once import http, tap
from once.admin import Admin
from once.certificates import Authority
from once.demo import source
from once.gateway import command, is_without, program, write
from once.messages import Stream
from once.messages import source as message_source
from once.postgres import Outbox, as_user, outbox_source, programs
from once.ports import free_port
from once.process import Process
from once.rediscluster import slot_of
from once.relays import relay, topic_relay
from once.tap import Skip, each, equal, test
from once.upstream import (
    answer, close_unanswered, refuse_plainly, refused_port, then_close)
from once.wait import eventually

WELL = ("--appendonly", "yes", "--appendfsync", "always")
LEVELS = ("fail", "warn")


class Patient:
    """A configuration and the world that it is about.  Its upstream is on a
    Unix socket: nobody asks there whether TLS is spoken, for which OpenSSL
    would read all authorities of the system."""

    def __init__(self, bench, redis=None, replica=False, upstream=None,
                 **members):
        self.bench = bench
        self.port = free_port()
        options = ["--port", str(self.port),
                   "--repl-diskless-sync-delay", "0"] if replica else []
        self.redis = redis or bench.own_redis(*WELL, *options)
        self.upstream = upstream or bench.upstream(
            unix=os.path.join(bench.folder(), "api"))
        self.config = bench.config(
            self.upstream, redis=self.redis, limits={"connections": 1000},
            **members)
        self.file = os.path.join(bench.folder(), "onceproxy.json")

    def run(self, *args, **more):
        write(self.file, self.config)
        return command("doctor", "-c", self.file, *args, **more)

    def look(self):
        """Its findings by name, as --json has them."""
        done = self.run("--json")
        got = json.loads(done.stdout)
        bad = [f for f in got["findings"] if f["level"] in LEVELS]
        fails = [f for f in bad if f["level"] == "fail"]
        equal((done.returncode, done.stderr), (1 if fails else 0, ""))
        equal((got["failures"], got["warnings"]),
              (len(fails), len(bad) - len(fails)))
        for finding in bad:
            assert finding["cure"] and "{}" not in str(finding), finding
        return {f["name"]: f for f in got["findings"]}

    def finds(self, name):
        """The one finding of that name."""
        found = self.look()[name]
        assert found["level"] in LEVELS, found
        return found

    def misses(self, name):
        found = self.look()[name]
        assert found["level"] == "ok", found

    def cure(self, finding):
        """Runs the redis-cli command of its cure as it stands."""
        run_command(finding)


def run_command(finding):
    words = re.findall(r"redis-cli ([^,;]+)", finding["cure"])
    assert words, finding
    done = subprocess.run(["redis-cli", "-e", *shlex.split(words[0])],
                          capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), finding)


def administrator(redis, line):
    return redis(*shlex.split(line))


# --- the whole -------------------------------------------------------------

@test
def a_healthy_world_is_well(bench):
    patient = Patient(bench, replica=True)
    with_replica(bench, patient)
    done = patient.run()
    equal((done.returncode, done.stdout),
          (0, f"{patient.file}: all is well\n"), done.stderr)
    done = patient.run("-v")
    equal(done.returncode, 0)
    lines = done.stdout.splitlines()
    equal({line.split()[0] for line in lines[:-1]}, {"ok"}, done.stdout)
    equal([line.split("[")[-1] for line in lines[:-1]],
          [name + "]" for name, _ in table()])


def table():
    with open(source("src/tbl/findings.h"), encoding="ascii") as file:
        return re.findall(r"^FINDING\((\w+), (\w+)", file.read(), re.M)


@test
def every_finding_is_provoked_here(bench):
    """... or in the test of the store that it is about."""
    text = ""
    for name in ("blackbox/test_doctor.py", "blackbox/test_doctor_kafka.py",
                 "blackbox/test_doctor_witness.py",
                 "blackbox/test_kafka_group.py", "blackbox/test_sentinel.py",
                 "blackbox/test_token_keys.py", "blackbox/test_webhook.py"):
        with open(source(f"tests/{name}"), encoding="utf-8") as file:
            text += file.read()
    equal([name for name, _ in table()
           if f'"{name}"' not in text], [])


@test
def a_finding_is_one_line_with_its_place_and_its_cure(bench):
    patient = Patient(bench)
    patient.redis("CONFIG", "SET", "maxmemory", "1gb", "maxmemory-policy",
                  "allkeys-lru")
    done = patient.run()
    equal(done.returncode, 1)
    line, = [l for l in done.stdout.splitlines() if "[eviction]" in l]
    assert line.startswith("fail  /store/redis: Redis may evict"), line
    cure = f"allkeys-lru. To do: redis-cli -s {patient.redis.path} CONFIG SET"
    assert cure in line, line
    assert done.stdout.endswith(": 1 failure, 1 warning\n"), done.stdout


@test
def it_changes_nothing_and_leaves_nothing(bench):
    patient = Patient(bench)
    patient.redis("SET", "onceproxy:{0}:mine", "x")
    os.rmdir(patient.config["state_dir"])
    patient.look()
    equal(patient.redis.keys(), [b"onceproxy:{0}:mine"])
    assert not os.path.exists(patient.config["state_dir"])
    assert (b"rdb_changes_since_last_save:1\r\n"
            in patient.redis("INFO", "persistence"))


@test
def of_what_is_not_there_nothing_is_well(bench):
    patient = Patient(bench)
    os.rmdir(patient.config["state_dir"])
    closed, port = refused_port()
    patient.config["upstreams"]["api"] = f"http://127.0.0.1:{port}"
    found = patient.look()
    closed.close()
    for name in ("journal", "journal_foreign", "journal_damaged"):
        equal(found[name]["level"], "ok")
    for name in ("state_dir_open", "state_dir_full"):
        equal(found[name]["level"], "ok")
        assert found[name]["words"].endswith("not there yet"), found[name]
    equal(found["upstream_closed"]["level"], "fail")
    equal(found["target_down"]["level"], "skip")


@test
def it_sends_nothing_to_an_upstream(bench):
    patient = Patient(bench, upstream=bench.upstream())
    patient.look()
    patient.upstream.reply = answer()
    gateway = bench.serve(patient.config)
    equal(gateway.ask("k").status, 201)
    equal(len(patient.upstream.requests), 1)


# --- where a reconcile asks -------------------------------------------------

BY_KEY = "/v1/charges/by-key/{key}?of={json:/account}"
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


def reconciling(bench, reply, **more):
    patient = Patient(bench, upstream=bench.upstream(reply))
    patient.config["routes"][0]["idempotency"]["on_unknown"] = {
        "reconcile": {"path": BY_KEY, **more}}
    return patient


def asked(patient):
    """All that the API was sent: one GET, of a key that nobody has used."""
    (request,) = patient.upstream.requests
    equal((request.method, request.body), ("GET", b""))
    found = re.fullmatch(
        rf"/v1/charges/by-key/({UUID})\?of=({UUID})", request.target)
    assert found, request.target
    equal([name.lower() for name, _ in request.fields
           if name.lower() not in ("host", "connection")], ["user-agent"])
    return found.group(1)


@each([("404", 404, {}), ("410", 410, {}),
       ("another that absent has", 422, {"absent": [422]})])
def it_says_what_the_api_answers_to_a_key_that_no_payment_has(
        bench, status, more):
    patient = reconciling(
        bench, answer(status, b'{"error": "no such charge"}'), **more)
    found = patient.look()["reconcile"]
    equal(found["level"], "ok")
    key = asked(patient)
    for words in (key, f"answered {status}", "no such charge", "router"):
        assert words in found["words"], found


@test
def a_reconcile_that_finds_what_nobody_made_fails(bench):
    """Each payment that may have happened would be taken for made."""
    patient = reconciling(bench, answer(200, b"\xff\0x"))
    found = patient.finds("reconcile_invented")
    equal((found["level"], found["where"]),
          ("fail", "/routes/0/idempotency/on_unknown"))
    assert "taken for one that did" in found["words"], found
    assert asked(patient) in found["cure"], found
    equal(patient.look()["reconcile"]["level"], "skip")


@each([("not what absent says", 404, {"absent": [410]}, "stays unknown"),
       ("a fault", 500, {}, "stays unknown")])
def it_warns_of_a_reconcile_that_does_not_say_absent(
        bench, status, more, words):
    patient = reconciling(bench, answer(status, b"\xff\0x"), **more)
    found = patient.finds("reconcile")
    equal((found["level"], found["where"]),
          ("warn", "/routes/0/idempotency/on_unknown"))
    assert words in found["words"] and asked(patient) in found["cure"], found


@test
def an_api_that_says_release_says_absent(bench):
    patient = reconciling(bench, answer(
        409, b"x", [("Idempotency-Outcome", "release")]))
    equal(patient.look()["reconcile"]["level"], "ok")


@each([("wants credentials", lambda bench: answer(401, b"x"), "credentials"),
       ("cannot be reached", None, "reached")])
def what_a_reconcile_path_says_is_not_known_where_the_api(
        bench, reply, words):
    patient = reconciling(bench, reply and reply(bench))
    if reply is None:
        closed, port = refused_port()
        patient.config["upstreams"]["api"] = f"http://127.0.0.1:{port}"
    found = patient.look()["reconcile"]
    if reply is None:
        closed.close()
    equal(found["level"], "skip")
    assert words in found["words"], found


@test
def with_headers_of_its_own_it_asks_as_a_gateway_does(bench):
    patient = reconciling(bench, answer(401, b"x"), absent=[404], headers={
        "Authorization": {"file": bench.file(b"Bearer ours\n")},
        "X-Key": "of {key}"}, keys_unique=True)
    patient.config["store"]["encryption_keys"] = [{
        "id": "a", "key": base64.b64encode(bytes(32)).decode()}]
    found = patient.finds("reconcile")
    assert "answered 401" in found["words"], found
    (request,) = patient.upstream.requests
    equal(request.get("Authorization"), "Bearer ours")
    assert re.fullmatch(f"of {UUID}", request.get("X-Key")), request.fields


# --- the file and this machine ---------------------------------------------

@test
def a_file_that_is_not_valid_is_all_it_says(bench):
    patient = Patient(bench, colour="red")
    got = patient.finds("configuration")
    equal((got["where"], got["level"]), ("/colour", "fail"))
    done = patient.run()
    (said,) = command("check", "-c", patient.file).stdout.splitlines()
    assert said.startswith(f"{patient.file}:"), said
    assert f"fail  {said}" in done.stdout, (said, done.stdout)
    equal([str(got["line"]), str(got["column"])], said.split(":")[1:3])
    del patient.config["colour"]
    patient.misses("configuration")


@test
def a_state_dir_that_cannot_be_made_is_a_failure(bench):
    patient = Patient(bench)
    above = bench.folder()
    path = os.path.join(above, "a b", "state")
    patient.config["state_dir"] = path
    got = patient.finds("state_dir")
    equal((got["where"], got["level"]), ("/state_dir", "fail"))
    os.mkdir(os.path.dirname(path))
    patient.misses("state_dir")
    os.rmdir(os.path.dirname(path))
    cure = patient.finds("state_dir")["cure"]
    line = re.search(r"install .*", cure).group()
    assert "-o 0 " not in line, line
    if " -o USER " in line:
        assert "for the user that runs the gateway: install" in cure, cure
        line = line.replace(" USER ", " root ")
    subprocess.run(line, shell=True, check=True)
    patient.misses("state_dir")
    write(os.path.join(above, "file"), "")
    patient.config["state_dir"] = os.path.join(above, "file")
    found = patient.look()
    equal((found["state_dir"]["level"], found["state_dir_open"]["level"]),
          ("fail", "ok"))
    assert "(Not a directory)" in found["state_dir"]["words"], found
    assert found["state_dir"]["cure"].endswith("/var/lib/onceproxy"), found


@test
def a_full_disk_of_state_dir_is_a_failure(bench):
    patient = Patient(bench)
    folder = bench.folder()
    patient.config["state_dir"] = folder
    patient.misses("state_dir_full")
    mounted = ["unshare", "-rm", "sh", "-euc",
               'mount -t tmpfs -o size=512k,mode=0700 tmpfs "$0"; exec "$@"',
               folder]
    if subprocess.run([*mounted, "true"], check=False).returncode != 0:
        raise Skip("nothing can be mounted here")
    done = subprocess.run(
        [*mounted, program(), "doctor", "-c", patient.file],
        capture_output=True, text=True, check=False)
    equal(done.returncode, 1, done.stdout + done.stderr)
    line, = [l for l in done.stdout.splitlines() if l.startswith("fail")]
    assert line.endswith(f"df -h {folder}  [state_dir_full]"), line


@test
def a_state_dir_that_others_can_read_is_a_failure(bench):
    patient = Patient(bench)
    os.chmod(patient.config["state_dir"], 0o750)
    got = patient.finds("state_dir_open")
    equal((got["where"], got["level"]), ("/state_dir", "fail"))
    assert "0750" in got["words"], got
    # Whoever does that to / locks all others out.
    only, command_line, other = re.fullmatch(
        "(.*): (chmod [^;]*); (.*)", got["cure"]).groups()
    assert "only the gateway's files" in only, got
    assert "name another folder" in other, got
    subprocess.run(command_line, shell=True, check=True)
    patient.misses("state_dir_open")


@each([
    ("of no machine", "no-such-host.invalid:8080", {},
     "(Name or service not known)"),
    ("of another machine", "192.0.2.1:8080", {},
     "(Cannot assign requested address)"),
    ("below a folder that is not there", "unix:{}/none/sock", {},
     "none: No such file or directory)"),
    ("below what is no folder", "unix:{}/file/sock", {},
     "file: Not a directory)"),
    ("of a group that is not there", "unix:{}/sock", {"group": "no-such-1"},
     '(there is no group "no-such-1")'),
])
def an_address_that_cannot_be_had_is_a_failure(bench, address, more, words):
    patient = Patient(bench)
    folder = bench.folder()
    write(os.path.join(folder, "file"), "")
    entry = {"address": address.format(folder), **more}
    patient.config["listen"].append(entry if more else entry["address"])
    got = patient.finds("listen")
    equal((got["where"], got["level"]), ("/listen/1", "fail"))
    assert entry["address"] in got["words"] and words in got["words"], got
    del patient.config["listen"][1]
    patient.misses("listen")
    if more:
        return
    patient.config["admin"] = {"listen": entry["address"], "token": "t"}
    got = patient.finds("listen")
    equal(got["where"], "/admin/listen")
    patient.config["listen"] = ["127.0.0.1:0", ":0", "localhost:0"]
    patient.config["admin"] = {"listen": f"unix:{folder}/sock"}
    patient.misses("listen")


@test
def outcomes_in_the_journal_are_a_warning(bench):
    patient = Patient(bench)
    patient.misses("journal")
    leave_in_journal(bench, patient)
    patient.redis.start()
    got = patient.finds("journal")
    equal((got["where"], got["level"]), ("/state_dir", "warn"))
    assert "take them: 2 (" in patient.run().stdout, got
    line = re.search(r"onceproxy serve -c (\S+)", got["cure"]).group(1)
    equal(line, patient.file)
    gateway = bench.serve(patient.config)
    eventually(lambda: patient.look()["journal"]["level"] == "ok",
               "the journal is delivered")
    gateway.stop()


@test
def outcomes_of_another_store_are_a_warning(bench):
    patient = Patient(bench)
    leave_in_journal(bench, patient)
    patient.redis.start()
    patient.misses("journal_foreign")
    own = patient.config["store"]
    for change in ({"redis": bench.own_redis().url}, {"prefix": "other"},
                   {"shards": 32}):
        patient.config["store"] = {**own, **change}
        got = patient.finds("journal_foreign")
        equal((got["where"], got["level"]), ("/state_dir", "warn"))
        assert ".journal2" in got["words"], got
        patient.misses("journal")
    patient.config["store"] = own
    patient.finds("journal")


@test
def outcomes_follow_the_data_of_their_store(bench):
    """By its id, which a Redis at another place has."""
    patient = Patient(bench)
    leave_in_journal(bench, patient)
    patient.redis.start()
    copy = bench.own_redis(*WELL)
    name = b"onceproxy:{0}:store"
    copy("SET", name, patient.redis("GET", name))
    patient.config["store"]["redis"] = copy.url
    patient.misses("journal_foreign")
    patient.finds("journal")


@test
def damaged_files_of_the_journal_are_a_warning(bench):
    patient = Patient(bench)
    folder = os.path.join(patient.config["state_dir"], "journal")
    os.mkdir(folder, 0o700)
    patient.misses("journal_damaged")
    kept = os.path.join(folder, "1-0-0123456789abcdef.journal2.damaged-1")
    write(kept, "")
    got = patient.finds("journal_damaged")
    equal((got["where"], got["level"]), ("/state_dir", "warn"))
    assert os.path.basename(kept) in got["words"], got
    os.unlink(kept)
    patient.misses("journal_damaged")


def leave_in_journal(bench, patient):
    """Two outcomes that Redis does not get, because it dies."""
    gateway = bench.serve(patient.config)
    hold = patient.upstream.hold()
    tasks = [bench.background(gateway.ask, key) for key in ("a", "b")]
    patient.upstream.wait_for(2)
    patient.redis.kill()
    hold.release()
    equal([task.result().status for task in tasks], [201, 201])
    gateway.kill()


def open_folder(bench):
    folder = bench.folder()
    os.chmod(folder, 0o755)
    return folder


@each([("read", "read", 0o644), ("change", "change", 0o642),
       ("read and change", "read and change", 0o666)])
def a_secret_that_other_users_can(bench, what, mode):
    patient = Patient(bench)
    name = os.path.join(open_folder(bench), "a token")
    write(name, "s3cret")
    patient.config["admin"] = {"listen": "127.0.0.1:0",
                               "token": {"file": name}}
    os.chmod(name, 0o640)
    patient.misses("secret_open")
    os.chmod(name, mode)
    got = patient.finds("secret_open")
    equal((got["where"], got["level"]), ("/admin/token", "warn"))
    owner = subprocess.run(["id", "-un"], capture_output=True, text=True,
                           check=True).stdout.strip()
    equal(got["words"], f"other users can {what} {name} (of {owner}, mode "
          f"{mode:04o}), which has a secret")
    subprocess.run(got["cure"], shell=True, check=True)
    equal(os.stat(name).st_mode & 0o777, 0o640)
    patient.misses("secret_open")
    # Nobody else comes as far as the file.
    os.chmod(name, mode)
    os.chmod(os.path.dirname(name), 0o700)
    patient.misses("secret_open")


@each([("of listen", "/listen/0/tls/key"),
       ("of an upstream", "/upstreams/api/key")])
def the_key_of_a_certificate_is_a_secret(bench, pointer):
    folder = open_folder(bench)
    own = Authority(folder).issue("localhost")
    patient = Patient(bench)
    files = {"certificate": own.file, "key": own.key}
    if "listen" in pointer:
        patient.config["listen"][0] = {"address": "127.0.0.1:0", "tls": files}
    else:
        patient.config["upstreams"]["api"].update(
            targets=["https://127.0.0.1:9"], **files)
    os.chmod(own.key, 0o644)
    got = patient.finds("secret_open")
    equal(got["where"], pointer)
    assert own.key in got["words"], got
    os.chmod(own.key, 0o600)
    patient.misses("secret_open")


@test
def the_configuration_is_one_where_a_secret_stands_in_it(bench):
    patient = Patient(bench)
    patient.file = os.path.join(open_folder(bench), "onceproxy.json")
    write(patient.file, "")
    os.chmod(patient.file, 0o644)
    patient.misses("secret_open")
    patient.config["store"]["secret"] = "s3cret"
    got = patient.finds("secret_open")
    equal(got["where"], "/store/secret")
    assert patient.file in got["words"], got


@each([("is over", (-3, -1), "certificate_invalid", "fail"),
       ("is not valid yet", (1, 3), "certificate_invalid", "fail"),
       ("ends in 13 days", (-1, 13), "certificate_ends", "warn")])
def a_certificate_is_looked_at_that(bench, days, name, level):
    authority = Authority(bench.folder())
    patient = Patient(bench)

    def listen(certificate):
        patient.config["listen"] = ["127.0.0.1:0", {
            "address": "127.0.0.1:0", "tls": {
                "certificate": certificate.file, "key": certificate.key}}]
    listen(authority.issue("localhost", days=(-1, 15)))
    for each_name in ("certificate_invalid", "certificate_ends"):
        patient.misses(each_name)
    certificate = authority.issue("localhost", days=days)
    listen(certificate)
    got = patient.finds(name)
    equal((got["where"], got["level"]),
          ("/listen/1/tls/certificate", level))
    assert certificate.file in got["cure"], got


@test
def few_descriptors_are_a_warning(bench):
    patient = Patient(bench)

    def look(connections, descriptors=1024):
        patient.config["limits"] = {"connections": connections}
        write(patient.file, patient.config)
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n "$0" && exec "$@"', str(descriptors),
             program(), "doctor", "-c", patient.file, "--json"],
            capture_output=True, check=True)
        found = json.loads(done.stdout)["findings"]
        return next(f for f in found if f["name"] == "descriptors")
    equal(look(200)["level"], "ok")
    got = look(512)
    equal((got["where"], got["level"]), ("/limits/connections", "warn"))
    clients = int(re.search(r"only (\d+) clients", got["words"]).group(1))
    equal(look(clients)["level"], "ok")
    equal(look(clients + 1)["level"], "warn")
    wanted = re.search(r"to (\d+) or more", got["cure"]).group(1)
    equal(look(512, wanted)["level"], "ok")
    if int(wanted) > 1024:
        equal(look(512, int(wanted) - 400)["level"], "warn")


@test
def a_managed_redis_is_looked_at_where_it_runs(bench):
    patient = Patient(bench)
    patient.config["store"]["redis"] = "managed"
    got = patient.finds("redis_stopped")
    equal((got["where"], got["level"]), ("/store/redis", "warn"))
    gateway = bench.serve(patient.config)
    found = patient.look()
    equal([f for f in found.values() if f["level"] != "ok"], [])
    gateway.stop()
    patient.finds("redis_stopped")


@test
def a_managed_redis_that_is_silent_is_a_failure(bench):
    patient = Patient(bench, store={"timeout": "150ms"})
    patient.config["store"]["redis"] = "managed"
    gateway = bench.serve(patient.config)
    with frozen(patient.config["state_dir"]):
        found = patient.look()
        got = found["redis_unreachable"]
        equal((got["where"], got["level"]), ("/store/redis", "fail"))
        assert got["words"].startswith("Redis does not answer"), got
        assert "restart that" in got["cure"], got
        assert os.path.join("redis", "redis.sock") in got["cure"], got
        equal(found["redis_stopped"]["level"], "skip")
    patient.config["store"]["timeout"] = "5s"
    patient.misses("redis_unreachable")
    patient.misses("redis_stopped")
    gateway.stop()
    patient.finds("redis_stopped")
    equal(patient.run().returncode, 0)


@contextlib.contextmanager
def frozen(state_dir):
    """The managed Redis of that folder does not answer meanwhile."""
    path = os.path.join(state_dir, "redis", "redis.sock")
    with socket.socket(socket.AF_UNIX) as peer:
        peer.connect(path)
        pid = struct.unpack("3i", peer.getsockopt(
            socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@test
def a_state_dir_too_long_for_the_managed_socket_is_a_failure(bench):
    patient = Patient(bench)
    patient.config["store"]["redis"] = "managed"
    patient.config["state_dir"] = os.path.join(bench.folder(), "x" * 100)
    got = patient.finds("managed_server")
    equal((got["where"], got["level"]), ("/state_dir", "fail"))
    patient.config["state_dir"] = bench.folder()
    patient.misses("managed_server")


# --- coming in -------------------------------------------------------------

@test
def another_program_in_the_place_of_redis_is_no_redis(bench):
    other = bench.serve(bench.config(bench.upstream()))
    patient = Patient(bench)
    patient.config["store"] = {"redis": f"redis://{other.address}"}
    assert "wrong port" in patient.finds("redis_unreachable")["cure"]


@test
def a_redis_that_does_not_answer_is_a_failure(bench):
    patient = Patient(bench)
    patient.redis.kill()
    got = patient.finds("redis_unreachable")
    equal((got["where"], got["level"]), ("/store/redis", "fail"))
    assert patient.redis.path in got["cure"], got
    found = patient.look()
    equal(found["eviction"]["level"], "skip")
    assert "not checked" in found["eviction"]["words"]
    patient.redis.start()
    patient.misses("redis_unreachable")


@each([(f"{protocol}, {named}", protocol, login)
       for protocol in ("TLSv1.2", "TLSv1.3")
       for named, login in (("without a login", {}),
                            ("with one", {"password": "p"}))])
def a_redis_that_wants_a_client_certificate_is_a_failure(
        bench, protocol, login):
    authority = Authority(bench.folder())
    own, client = authority.issue("redis", "IP:127.0.0.1"), \
        authority.issue("gateway")
    redis = bench.own_redis(
        "--tls-cert-file", own.file, "--tls-key-file", own.key,
        "--tls-ca-cert-file", authority.file, "--tls-auth-clients", "yes",
        "--tls-protocols", protocol)
    redis("CONFIG", "SET", "requirepass", login.get("password", ""))
    patient = Patient(bench, redis=redis)
    patient.config["store"].update(login)
    patient.config["store"]["redis"] = \
        f"rediss://127.0.0.1:{redis.port('tls-port')}"
    patient.config["store"]["tls"] = {"ca": authority.file}
    found = patient.look()
    got = found["redis_certificate"]
    equal((got["where"], got["level"]), ("/store/redis", "fail"))
    assert "wants a client certificate" in got["words"], got
    assert "store.tls.certificate and store.tls.key" in got["cure"], got
    equal(found["redis_unreachable"]["level"], "ok")
    patient.config["store"]["tls"].update(
        certificate=client.file, key=client.key)
    patient.misses("redis_certificate")


@test
def a_cure_says_what_tls_lacks(bench):
    authority = Authority(bench.folder())
    own = authority.issue("redis", "IP:127.0.0.1")
    redis = bench.own_redis(
        "--tls-cert-file", own.file, "--tls-key-file", own.key,
        "--tls-ca-cert-file", authority.file, "--tls-auth-clients", "no")
    patient = Patient(bench, redis=redis)
    place = f"127.0.0.1:{redis.port('tls-port')}"
    store = patient.config["store"]
    store["redis"] = f"redis://{place}"
    assert "rediss:// instead" in patient.finds("redis_unreachable")["cure"]
    store["redis"] = f"rediss://{place}"
    got = patient.finds("redis_unreachable")
    assert "NOT trusted" in got["words"] and got["words"][-1] != ".", got
    assert "authority that issued its certificate (ca)" in got["cure"], got
    store["tls"] = {"ca": authority.file, "server_name": "elsewhere"}
    assert "(server_name)" in patient.finds("redis_unreachable")["cure"]
    del store["tls"]["server_name"]
    patient.misses("redis_unreachable")


@test
def a_redis_that_is_silent_is_a_failure(bench):
    patient = Patient(bench, store={"timeout": "150ms"})
    patient.redis.freeze()
    patient.finds("redis_unreachable")
    patient.redis.thaw()
    patient.config["store"]["timeout"] = "5s"
    patient.misses("redis_unreachable")


@test
def a_wrong_password_is_a_failure_whose_cure_makes_the_user(bench):
    patient = Patient(bench, store={"user": "gate", "password": "s3cret"})
    got = patient.finds("redis_login")
    equal((got["where"], got["level"]), ("/store/user", "fail"))
    line = got["cure"].split("create the user: ")[1]
    assert line.startswith("ACL SETUSER gate on >PASSWORD "), line
    assert "s3cret" not in str(got)
    administrator(patient.redis, line.replace("PASSWORD", "s3cret"))
    patient.misses("redis_login")
    patient.misses("rights")
    patient.redis("CONFIG", "SET", "requirepass", "other")
    del patient.config["store"]["user"], patient.config["store"]["password"]
    equal(patient.finds("redis_login")["where"], "/store/redis")


@test
def a_gateway_that_has_an_older_secret_is_a_failure(bench):
    """It says why Redis is away, and reads the secret again by SIGHUP."""
    patient = Patient(bench)
    patient.redis("CONFIG", "SET", "requirepass", "first")
    secret = os.path.join(bench.folder(), "password")
    write(secret, "first")
    patient.config["store"]["password"] = {"file": secret}
    patient.config["admin"] = {
        "listen": "unix:" + os.path.join(bench.folder(), "admin")}
    patient.upstream.reply = answer()
    gateway = bench.serve(patient.config)
    equal(gateway.ask("a").status, 201)
    patient.misses("login_old")
    patient.redis("CONFIG", "SET", "requirepass", "second")
    for kind in ("normal", "pubsub"):
        patient.redis("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")
    gateway.wait_for_log("store_down", error="WRONGPASS invalid username-"
                         "password pair or user is disabled.")
    status = Admin(gateway).get("/status")["store"]
    assert status["error"].startswith("WRONGPASS"), status
    write(secret, "second")
    got = patient.finds("login_old")
    equal((got["where"], got["level"]), ("/store/password", "fail"))
    assert "WRONGPASS" in got["words"], got
    gateway.signal(signal.SIGHUP)
    gateway.wait_for_log("store_up")
    equal(gateway.ask("b").status, 201)
    patient.misses("login_old")


@test
def a_password_for_a_redis_that_wants_none_may_be_left_out(bench):
    patient = Patient(bench, store={"password": "s3cret"})
    got = patient.finds("redis_login")
    assert "leave store.password out" in got["cure"], got
    line = next(line for line in patient.run().stdout.splitlines()
                if "[redis_login]" in line)
    assert "?. " not in line, line
    del patient.config["store"]["password"]
    patient.misses("redis_login")


@test
def a_cure_asks_for_the_password_where_there_is_one(bench):
    patient = Patient(bench, store={"password": "s3cret"})
    patient.redis("CONFIG", "SET", "requirepass", "s3cret")
    patient.redis("CONFIG", "SET", "appendonly", "no")
    cure = patient.finds("persistence")["cure"]
    words = shlex.split(re.findall(r"redis-cli ([^,;]+)", cure)[0])
    equal(words[:3], ["-s", patient.redis.path, "--askpass"])
    done = subprocess.run(["redis-cli", *words], input="s3cret\n",
                          capture_output=True, text=True, check=True)
    assert done.stdout.endswith("OK\n"), done
    patient.misses("persistence")
    assert "masterauth" in patient.finds("no_replica")["cure"]


@test
def a_database_that_redis_does_not_have_is_a_failure(bench):
    patient = Patient(bench)
    place = patient.config["store"]["redis"]
    mark = "&" if "?" in place else "?"
    patient.config["store"]["redis"] = f"{place}{mark}db=99"
    got = patient.finds("redis_database")
    equal((got["where"], got["level"]), ("/store/redis", "fail"))
    assert "database 99: ERR DB index is out of range" in got["words"], got
    patient.config["store"]["redis"] = f"{place}{mark}db=3"
    patient.misses("redis_database")


@test
def a_start_with_a_wrong_password_names_the_redis_and_the_members(bench):
    patient = Patient(bench)
    port = patient.redis.port()
    patient.config["store"].update(
        redis=f"redis://127.0.0.1:{port}", user="gate", password="s3cret")
    gateway = bench.serve(patient.config, ready=False)
    equal(gateway.wait(), 1)
    said = gateway.find_log("fatal")[0]["error"]
    assert said.startswith(f"Redis 127.0.0.1:{port} does not accept store.user "
                           "and store.password: WRONGPASS "), said
    assert said.endswith("disabled; onceproxy doctor says more"), said


# --- rights ----------------------------------------------------------------

BOTH_WAYS = [(way, {"scripting": way}) for way in ("script", "function")]
NEEDED_WITH = {"script": {"scripting": "script"},
               "function": {"scripting": "function"},
               "replicas": {"wait_replicas": 1},
               "sources": {"sources": True},
               "messages": {"sources": True}}


def rights():
    """The rights of tbl/rights.h that a user can be denied here, each with
    what makes it necessary: members of store, or that there is a source."""
    with open(source("src/tbl/rights.h"), encoding="ascii") as file:
        found = re.findall(r'^RIGHT\("([^"]+)", (\w+)', file.read(), re.M)
    assert len(found) > 15
    return [(name, NEEDED_WITH.get(when, {})) for name, when in found
            if when not in ("database", "cluster", "relays", "hashes",
                            "webhooks", "refusal")]


def restricted(bench, redis=None, members=None):
    """A patient whose user has the rights that --acl prints, and no others."""
    members = dict(members or {})
    has_source = members.pop("sources", False)
    patient = Patient(bench, redis, store={
        "user": "gate", "password": "pw", "events": {"maxlen": 1000},
        **members})
    if has_source:
        message_source(patient.config, Stream(patient.redis))
    done = patient.run("--acl")
    equal((done.returncode, done.stderr), (0, ""))
    line = done.stdout.strip().replace("PASSWORD", "pw")
    equal(administrator(patient.redis, line), "OK")
    return patient


@each(BOTH_WAYS)
def a_user_with_the_line_of_acl_is_well(bench, members):
    patient = restricted(bench, members=members)
    found = patient.look()
    equal({n for n, f in found.items() if f["level"] in LEVELS},
          {"no_replica"})
    equal({n for n, f in found.items() if f["level"] == "skip"},
          {"appendfsync", "foreign_keys", "encryption_keys", "plain_answers"})


@test
def that_user_may_do_this_and_nothing_else(bench):
    patient = restricted(bench, bench.redis)
    for words in (["XADD", "onceproxy:{0}:events", "*", "a", "b"],
                  ["GET", "onceproxy:{0}:r:00"],
                  ["PUBLISH", "onceproxy:{0}:changes", "x"],
                  ["PSUBSCRIBE", "onceproxy:{*}:changes"],
                  ["CLIENT", "SETNAME", "onceproxy"]):
        equal(patient.redis("ACL", "DRYRUN", "gate", *words), "OK", words)
    for words in (["CONFIG", "GET", "x"], ["FLUSHALL"], ["KEYS", "*"],
                  ["GET", "other"], ["PUBLISH", "other", "x"]):
        said = patient.redis("ACL", "DRYRUN", "gate", *words)
        assert said != "OK", words


@test
def a_source_needs_rights_of_its_own(bench):
    """Dead and parked messages are in the store."""
    own = {"+hmget", "+hset", "+zcard"}
    patient = Patient(bench)
    equal(own & set(patient.run("--acl").stdout.split()), set())
    message_source(patient.config, Stream(patient.redis))
    equal(own - set(patient.run("--acl").stdout.split()), set())


def expect_named_and_given(bench, names, members):
    """A user without these rights is told which, and how they are given."""
    patient = restricted(bench, bench.redis, members)
    patient.redis("ACL", "SETUSER", "gate", *("-" + name for name in names))
    got = patient.finds("rights")
    equal((got["where"], got["level"]), ("/store/user", "fail"))
    equal(re.findall(r"\+([a-z|]+) \(", got["words"]), names, got)
    assert "ACL SAVE where Redis has an aclfile" in got["cure"], got
    line = got["cure"].split("CONFIG REWRITE): ")[1]
    # Who may neither hear nor speak does not hear whether the channel is his.
    deaf = {"psubscribe", "publish"} <= set(names)
    equal(line, "ACL SETUSER gate " + " ".join("+" + name for name in names) +
          (" resetchannels &onceproxy:{*}:changes" if deaf else ""))
    administrator(patient.redis, line)
    patient.misses("rights")


@each([(f"bit {bit}", bit) for bit in range(len(rights()).bit_length())])
def rights_that_are_missing_are_named_and_given(bench, bit):
    """Those whose number has that bit: no two are among the same ones in all of
    these tests, so each is named by itself."""
    for members in {str(m): m for m in NEEDED_WITH.values()}.values():
        names = [name for n, (name, needs) in enumerate(rights(), 1)
                 if n >> bit & 1 and needs in ({}, members)]
        expect_named_and_given(bench, names, members)


@each([("keys", "resetkeys", "~onceproxy:*"),
       ("channels", "resetchannels", "&onceproxy:{*}:changes")])
def a_pattern_that_is_missing_is_named_and_given(bench, rule, wanted):
    patient = restricted(bench, bench.redis)
    patient.redis("ACL", "SETUSER", "gate", rule)
    got = patient.finds("rights")
    assert wanted in got["words"], got
    line = got["cure"].split("CONFIG REWRITE): ")[1]
    equal(line, f"ACL SETUSER gate {wanted}")
    administrator(patient.redis, line)
    patient.misses("rights")


@test
def a_user_who_may_nothing_is_given_all(bench):
    patient = restricted(bench)
    for rules in (["-@all", "resetkeys", "resetchannels"],
                  ["-@all", "allkeys", "allchannels"]):
        patient.redis("ACL", "SETUSER", "gate", *rules)
        line = patient.finds("rights")["cure"].split("CONFIG REWRITE): ")[1]
        administrator(patient.redis, line)
        patient.misses("rights")


@each(BOTH_WAYS)
def that_user_runs_the_whole_gateway(bench, members):
    patient = restricted(bench, members=members)
    patient.config["admin"] = {"listen": "127.0.0.1:0"}
    patient.config["routes"][0]["idempotency"] = {
        "lease": "3s", "in_flight": "wait", "wait_timeout": "50s",
        "max_attempts": 2}
    gateways = []
    for _ in range(3):
        patient.config["state_dir"] = bench.folder()
        gateways.append(bench.serve(patient.config))
    one, two, dead = gateways
    upstream = patient.upstream

    # Its owner dies: the sweeper finds it, later.
    hold = upstream.hold()
    bench.background(quiet, dead.ask, "dead")
    upstream.wait_for(1)
    dead.kill()
    # Claimed, renewed for longer than its lease, waited for on the other
    # gateway, completed, replayed from both.
    tasks = [bench.background(g.ask, "slow") for g in (one, two)]
    eventually(lambda: patient.redis.calls("setrange") > 2,
               "a mark of the one who waits, and renewals")
    hold.release()
    equal([t.result().status for t in tasks], [201, 201])
    equal(len(upstream.requests), 2)
    equal([g.ask("slow").status for g in (one, two)], [201, 201])
    # Released, and marked unknown.
    upstream.reply = answer(503)
    equal(one.ask("free").status, 503)
    upstream.reply = close_unanswered
    equal([one.ask(k).problem for k in ("u1", "u2", "u3")],
          ["outcome-unknown"] * 3)
    eventually(lambda: [g for g in (one, two) if g.find_log(
        "outcome_unknown", reason="lease-expired")], "the sweeper finds it")

    def keys(*args):
        file = os.path.join(bench.folder(), "x.json")
        write(file, dict(patient.config,
                         admin={"listen": one.ready["admin"]}))
        done = command("keys", "-c", file, *args, "--json")
        equal((done.returncode, done.stderr), (0, ""), args)
        return json.loads(done.stdout)
    ids = [r["key_id"] for r in keys("list")["keys"]]
    equal(len(ids), 4)
    keys("release", ids[0])
    keys("complete", ids[1], "--status", "200")
    keys("delete", ids[2], "--yes")
    equal(keys("show", ids[1])["state"], "COMPLETED")
    events = sum(patient.redis("XLEN", f"onceproxy:{{{n}}}:events")
                 for n in range(64))
    assert events > 8, events
    for event in ("store_refused", "store_unexamined", "store_deaf",
                  "event_lost", "operator_unsure"):
        equal(one.find_log(event) + two.find_log(event), [])


def quiet(function, *args):
    try:
        function(*args)
    except (OSError, http.Broken):
        pass


@test
def the_scripts_and_the_store_run_no_other_command(bench):
    with open(source("src/tbl/rights.h"), encoding="ascii") as file:
        known = {word for name in
                 re.findall(r'^RIGHT\("([^"]+)', file.read(), re.M)
                 for word in name.split("|")}
    used = set()
    for folder in ("src/store/record/lua", "src/store"):
        for name in os.listdir(source(folder)):
            # Questions to Sentinels need no right in Redis, and a broker's
            # scripts are looked at below.
            if not name.endswith((".lua", ".c")) or name in (
                    "inspect.c", "sentinel.c") or name.startswith("stream"):
                continue
            with open(source(f"{folder}/{name}"), encoding="utf-8") as file:
                text = file.read()
            used |= set(re.findall(r"redis\.p?call\('([A-Z]+)'", text))
            used |= set(re.findall(r"\{'([A-Z]{3,})', KEYS", text))
            used |= set(re.findall(r'resp_arg\([^;]*?SPAN\("([A-Z]+)"\)',
                                   text))
            used |= set(re.findall(r'\[\] = \{"([A-Z]+)"', text))
    # A user may always log in.
    equal({word.lower() for word in used} - known - {"auth"}, set())
    assert {"evalsha", "xadd", "ping", "publish"} <= known


@test
def the_scripts_of_streams_run_no_other_command(bench):
    with open(source("src/operators/doctor/look_streams.c"),
              encoding="ascii") as file:
        known = {word for name in
                 re.findall(r'^\s+\{"([^"]+)", "', file.read(), re.M)
                 for word in name.split("|")}
    used = set()
    folder = source("src/store/record/lua")
    for name in os.listdir(folder):
        if name.startswith("stream"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                used |= set(re.findall(r"redis\.p?call\('([A-Z]+)'",
                                       file.read()))
    equal({word.lower() for word in used} - known, set())
    assert {"xreadgroup", "xack", "xclaim", "xadd"} <= known


# --- what Redis is ---------------------------------------------------------

@test
def a_replica_is_a_failure(bench):
    patient = Patient(bench)
    patient.redis("REPLICAOF", "127.0.0.1", "1")
    got = patient.finds("redis_replica")
    equal((got["where"], got["level"]), ("/store/redis", "fail"))
    assert "127.0.0.1:1" in got["words"], got
    patient.cure(got)
    patient.misses("redis_replica")


@test
def eviction_is_a_failure_or_a_warning_where_it_is_allowed(bench):
    patient = Patient(bench)
    patient.redis("CONFIG", "SET", "maxmemory", "1gb")
    patient.misses("eviction")
    patient.redis("CONFIG", "SET", "maxmemory-policy", "volatile-ttl")
    patient.config["store"]["allow_eviction"] = True
    patient.misses("eviction")
    got = patient.finds("eviction_allowed")
    equal((got["where"], got["level"]), ("/store/allow_eviction", "warn"))
    patient.config["store"]["allow_eviction"] = False
    patient.misses("eviction_allowed")
    got = patient.finds("eviction")
    equal((got["where"], got["level"]), ("/store/redis", "fail"))
    patient.cure(got)
    patient.misses("eviction")


@test
def a_sync_every_second_is_a_warning(bench):
    patient = Patient(bench)
    patient.redis("CONFIG", "SET", "appendfsync", "everysec")
    got = patient.finds("appendfsync")
    equal((got["where"], got["level"]), ("/store/redis", "warn"))
    assert "everysec" in got["words"], got
    patient.cure(got)
    patient.misses("appendfsync")


@test
def a_redis_that_cannot_save_is_a_failure(bench):
    patient = Patient(bench)
    dump = os.path.join(patient.redis.folder, "dump.rdb")
    os.mkdir(dump)
    patient.redis("CONFIG", "SET", "save", "3600 1")
    patient.redis("BGSAVE")
    eventually(lambda: b"rdb_last_bgsave_status:err"
               in patient.redis("INFO", "persistence"), "it fails")
    got = patient.finds("writes")
    equal((got["where"], got["level"]), ("/store/redis", "fail"))
    assert "MISCONF" in got["words"], got
    os.rmdir(dump)
    patient.cure(got)
    eventually(lambda: patient.look()["writes"]["level"] == "ok",
               "it is saved")


@test
def a_full_redis_is_a_failure(bench):
    patient = Patient(bench)
    patient.redis("CONFIG", "SET", "maxmemory", "1mb")
    got = patient.finds("writes")
    assert "OOM" in got["words"], got
    patient.cure(patient.finds("memory"))
    patient.misses("writes")


def with_replica(bench, patient):
    """Starts a replica, as the cure says, and waits until it follows."""
    got = patient.finds("no_replica")
    equal((got["where"], got["level"]), ("/store/redis", "warn"))
    words = got["cure"].split("replicaof ")[1].split()
    equal(words[1], str(patient.port))
    replica = bench.own_redis("--replicaof", "127.0.0.1", words[1])
    eventually(lambda: b"state=online"
               in patient.redis("INFO", "replication"), "it follows")
    return replica


class Twister:
    """Stands in front of a Redis and passes everything on, except for the
    replies that answers replaces."""

    def __init__(self, bench, redis, twist):
        self.path = os.path.join(bench.folder(), "twisted")
        self.url = "unix:" + self.path
        self.redis, self.twist = redis, twist
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,),
                             daemon=True).start()

    def serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self.redis.path)
            server.settimeout(20)
            replies = server.makefile("rb")
            while data := client.recv(65536):
                server.sendall(data)
                client.sendall(self.twist(data, read_reply(replies)))


def read_reply(file):
    """The bytes of one reply."""
    line = file.readline()
    if line[:1] == b"$" and int(line[1:]) >= 0:
        return line + file.read(int(line[1:]) + 2)
    if line[:1] == b"*":
        return line + b"".join(read_reply(file)
                               for _ in range(int(line[1:])))
    return line


@test
def clocks_that_are_apart_are_a_warning(bench):
    def shift(asked, reply):
        if b"TIME\r\n" not in asked or not reply.startswith(b"*2"):
            return reply
        return re.sub(rb"\d{10}\r\n", lambda found: b"%d\r\n" % (
            int(found.group()) - 90), reply, count=1)
    redis = bench.own_redis(*WELL)
    twister = Twister(bench, redis, shift)
    patient = Patient(bench, redis=twister)
    got = patient.finds("clocks")
    equal((got["where"], got["level"]), ("/store/redis", "warn"))
    # As far at least as is certain, however long the reply took.
    assert re.search(r": (8[5-9]|90)\.\d s behind", got["words"]), got
    twister.twist = lambda asked, reply: reply
    patient.misses("clocks")
    twister.listener.close()


def saying(**values):
    """What Redis is made to say of itself in INFO."""
    def twist(asked, reply):
        text = reply
        for name, value in values.items():
            text = re.sub(rb"(?m)^%s:[^\r]*" % name.encode(),
                          b"%s:%s" % (name.encode(), value.encode()), text)
        if text == reply or not reply.startswith(b"$"):
            return reply
        body = text.split(b"\r\n", 1)[1]
        return b"$%d\r\n%s" % (len(body) - 2, body)
    return twist


@test
def a_redis_that_is_too_old_is_a_failure(bench):
    twister = Twister(bench, bench.own_redis(*WELL),
                      saying(redis_version="6.2.14"))
    patient = Patient(bench, redis=twister)
    got = patient.finds("redis_old")
    equal((got["where"], got["level"]), ("/store/redis", "fail"))
    assert "this is Redis 6.2.14" in got["words"], got
    twister.twist = lambda asked, reply: reply
    patient.misses("redis_old")
    twister.listener.close()


@test
def a_service_that_hides_how_it_keeps_what_it_has_may_be_durable(bench):
    """It has no CONFIG, and shows no append-only file."""
    def hide(asked, reply):
        return (b"-ERR unknown command 'CONFIG'\r\n" if b"CONFIG" in asked
                else saying(aof_enabled="0")(asked, reply))
    twister = Twister(bench, bench.own_redis(*WELL), hide)
    patient = Patient(bench, redis=twister)
    got = patient.finds("persistence_hidden")
    equal((got["where"], got["level"]), ("/store/redis", "warn"))
    assert "cannot tell" in got["words"], got
    patient.misses("persistence")
    # One that has it says so itself.
    twister.twist = saying(aof_enabled="0")
    patient.misses("persistence_hidden")
    equal(patient.finds("persistence")["level"], "fail")
    twister.listener.close()


@test
def fewer_replicas_than_are_waited_for_are_a_failure(bench):
    patient = Patient(bench, replica=True, store={"wait_replicas": 1})
    got = patient.finds("replicas_few")
    equal((got["where"], got["level"]), ("/store/wait_replicas", "fail"))
    assert got["words"].endswith(": 0 of 1"), got
    with_replica(bench, patient)
    eventually(lambda: patient.look()["replicas_few"]["level"] == "ok",
               "it has caught up")


# --- what lies there -------------------------------------------------------

@test
def records_that_need_an_operator_are_warnings(bench):
    patient = Patient(bench)
    patient.config["admin"] = {
        "listen": "unix:" + os.path.join(bench.folder(), "admin")}
    patient.config["routes"][0]["idempotency"] = {
        "max_attempts": 1, "on_unknown": "retry"}
    write(patient.file, patient.config)
    gateway = bench.serve(patient.config)
    patient.upstream.reply = close_unanswered
    for key in ("a", "b"):
        equal(gateway.ask(key).problem, "outcome-unknown")
    equal(gateway.ask("b").problem, "attempts-exhausted")
    for state, got in (("UNKNOWN", patient.finds("records_unknown")),
                       ("FAILED", patient.finds("records_failed"))):
        equal((got["where"], got["level"]), (None, "warn"))
        assert got["words"].endswith(": 1"), got
        line = got["cure"].split("complete it: onceproxy ")[1]
        done = subprocess.run([program(), *shlex.split(line), "--json"],
                              capture_output=True, check=True)
        record, = json.loads(done.stdout)["keys"]
        equal(record["state"], state)
        command("keys", "-c", patient.file, "release", record["key_id"])
    patient.misses("records_unknown")
    patient.misses("records_failed")


@test
def keys_of_another_number_of_shards_or_version_are_a_warning(bench):
    patient = Patient(bench)
    gateway = bench.serve(patient.config)
    patient.upstream.reply = answer()
    for i in range(8):
        gateway.ask(f"k{i}")
    gateway.stop()
    patient.redis("ZADD", "onceproxy:{27}:holds:source:charges", 1, "1-0")
    patient.misses("foreign_keys")
    patient.config["store"]["shards"] = 16
    got = patient.finds("foreign_keys")
    equal((got["where"], got["level"]), ("/store/prefix", "warn"))
    patient.config["store"]["shards"] = 64
    patient.misses("foreign_keys")
    record = next(k for k in patient.redis.keys() if b":r:" in k)
    patient.redis("SETRANGE", record, 0, "o3")
    got = patient.finds("foreign_keys")
    assert "1, such as " + record.decode() in got["words"], got
    patient.redis("DEL", record)
    name = "onceproxy:v2:it's $(x)"
    patient.redis("SET", name, "x")
    got = patient.finds("foreign_keys")
    equal(shlex.split(got["cure"].split("see one: ")[1]),
          ["redis-cli", "-s", patient.redis.path, "TYPE", name])
    patient.redis("RENAME", name, "another:x")
    patient.misses("foreign_keys")


@test
def a_key_that_answers_need_is_missing(bench):
    patient = Patient(bench, redis=bench.own_redis(*WELL))
    keys = [{"id": name, "key": base64.b64encode(
        name.encode() * 32).decode()} for name in "AB"]
    patient.config["store"]["encryption_keys"] = keys
    gateway = bench.serve(patient.config)
    for i in range(3):
        gateway.ask(f"k{i}")
    gateway.stop()
    patient.misses("encryption_keys")
    patient.config["store"]["encryption_keys"] = keys[1:]
    got = patient.finds("encryption_keys")
    equal((got["where"], got["level"]), ("/store/encryption_keys", "fail"))
    assert '3, for example with "A"' in got["words"], got
    assert '{"id": "A", "key": ' in got["cure"], got
    patient.config["store"]["encryption_keys"] = keys[1:] + keys[:1]
    patient.misses("encryption_keys")
    del patient.config["store"]["encryption_keys"]
    patient.finds("encryption_keys")


@test
def answers_that_were_stored_before_there_were_keys_are_a_warning(bench):
    patient = Patient(bench, redis=bench.own_redis(*WELL))
    gateway = bench.serve(patient.config)
    equal(gateway.ask("plain").status, 201)
    gateway.stop()
    patient.misses("plain_answers")
    patient.config["store"]["encryption_keys"] = [
        {"id": "A", "key": base64.b64encode(b"A" * 32).decode()}]
    gateway = bench.serve(patient.config)
    equal(gateway.ask("sealed").status, 201)
    gateway.stop()
    got = patient.finds("plain_answers")
    equal((got["where"], got["level"]), ("/store/encryption_keys", "warn"))
    assert got["words"].endswith(": 1"), got
    patient.redis("FLUSHALL")
    patient.misses("plain_answers")


# --- upstreams -------------------------------------------------------------

@test
def an_upstream_whose_port_is_closed_is_a_failure(bench):
    patient = Patient(bench)
    closed, port = refused_port()
    patient.config["upstreams"]["a/b"] = f"http://127.0.0.1:{port}"
    got = patient.finds("upstream_closed")
    equal((got["where"], got["level"]), ("/upstreams/a~1b", "fail"))
    assert patient.config["upstreams"]["a/b"] in got["cure"], got
    patient.config["upstreams"]["a/b"] = bench.upstream().url
    patient.misses("upstream_closed")
    closed.close()


@test
def a_name_of_an_upstream_that_has_no_address_is_a_failure(bench):
    patient = Patient(bench)
    patient.config["upstreams"]["api"] = "http://nobody.invalid:9"
    got = patient.finds("upstream_name")
    equal((got["where"], got["level"]), ("/upstreams/api", "fail"))
    assert got["cure"].endswith("getent hosts nobody.invalid"), got


@test
def an_upstream_that_takes_no_connection_in_time_is_a_failure(bench):
    """Its queue of connections is full."""
    patient = Patient(bench)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    address = listener.getsockname()
    waiting = []
    for _ in range(8):
        waiting.append(socket.socket())
        waiting[-1].setblocking(False)
        waiting[-1].connect_ex(address)
    patient.config["upstreams"]["api"] = {
        "targets": [f"http://127.0.0.1:{address[1]}"],
        "connect_timeout": "250ms"}
    got = patient.finds("upstream_silent")
    equal((got["where"], got["level"]), ("/upstreams/api", "fail"))
    for one in [listener, *waiting]:
        one.close()


@each([("of health", {"health": {"path": "/healthz"}}, {}),
       ("a reconcile", {}, {"path": "/v1/charges/{key}", "absent": [404]})])
def an_answer_without_a_length_is_a_failure(bench, upstream, reconcile):
    patient = Patient(bench, upstream=bench.upstream(then_close(
        b"HTTP/1.1 404 Not Found\r\n\r\nnobody")))
    target = patient.config["upstreams"]["api"]
    target.update(upstream)
    if reconcile:
        patient.config["routes"][0]["idempotency"]["on_unknown"] = {
            "reconcile": reconcile}
    got = patient.finds("upstream_length")
    equal((got["where"], got["level"]), ("/upstreams/api", "fail"))
    target["close_delimited"] = True
    patient.misses("upstream_length")


@test
def an_upstream_without_the_tls_of_its_address_is_a_failure(bench):
    patient = Patient(bench)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=refuse_plainly, args=[listener],
                         daemon=True).start()
        patient.config["upstreams"]["api"]["targets"] = [
            "https://127.0.0.1:%d" % listener.getsockname()[1]]
        found = patient.look()
        listener.shutdown(socket.SHUT_RDWR)
    got = found["upstream_plain"]
    equal((got["where"], got["level"]), ("/upstreams/api", "fail"))
    assert "plain HTTP" in got["words"], got
    assert "http:// instead of https://" in got["cure"], got
    equal(found["upstream_tls"]["level"], "ok")
    patient.config["upstreams"]["api"] = patient.upstream.url
    patient.misses("upstream_plain")


def served_at(serve):
    """A server, by what it does with each connection; its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def accept():
        while True:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                serve(client)
    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


WRONG_PORT = (b"HTTP/1.1 400 Bad Request\r\n\r\n"
              b"The plain HTTP request was sent to HTTPS port\n")


@each([("whose certificate the system does not trust", {}),
       ("that wants one of its clients, too", {"client_ca": True}),
       ("that tells it to those who come without", {"plain": WRONG_PORT}),
       ("that leads them elsewhere", {"plain": b"HTTP/1.1 301 Moved\r\n"
                                      b"Location: https://h/\r\n\r\n"})])
def a_plain_address_of_an_upstream_with_tls_is_a_failure(bench, how):
    own = Authority(bench.folder())
    tls = own.server(client_ca=own.file if "client_ca" in how else None)

    def serve(client):
        if "plain" in how and client.recv(1, socket.MSG_PEEK) != b"\x16":
            client.recv(65536)
            client.sendall(how["plain"])
            return
        with tls.wrap_socket(client, server_side=True) as secure:
            secure.recv(65536)
    port = served_at(serve)
    patient = Patient(bench)
    upstream = patient.config["upstreams"]["api"]
    for targets, place in (([f"http://127.0.0.1:{port}"], ""),
                           ([patient.upstream.url,
                             f"http://127.0.0.1:{port}"], "/targets/1")):
        upstream["targets"] = targets
        got = patient.finds("upstream_wants_tls")
        equal((got["where"], got["level"]),
              ("/upstreams/api" + place, "fail"))
        assert f"http://127.0.0.1:{port}" in got["words"], got
        assert "https:// instead of http://" in got["cure"], got
    equal(patient.upstream.requests, [])
    upstream.update(targets=[f"https://127.0.0.1:{port}"], ca=own.file)
    patient.misses("upstream_wants_tls")


@test
def a_port_that_speaks_both_is_well(bench):
    tls = Authority(bench.folder()).server()
    asked = []

    def serve(client):
        if client.recv(1, socket.MSG_PEEK) == b"\x16":
            tls.wrap_socket(client, server_side=True).close()
            return
        asked.append(client.recv(65536))
        client.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
    patient = Patient(bench)
    patient.config["upstreams"]["api"]["targets"] = [
        "http://127.0.0.1:%d" % served_at(serve)]
    patient.misses("upstream_wants_tls")
    # One connection had nothing on it: whether there is somebody at all.
    equal([data.split(b"\r\n")[0] for data in asked if data],
          [b"OPTIONS * HTTP/1.1"])


@test
def a_plain_upstream_that_is_silent_does_not_hold_doctor_up(bench):
    nothing = threading.Event()
    patient = Patient(bench)
    patient.config["upstreams"]["api"].update(connect_timeout="5m", targets=[
        "http://127.0.0.1:%d" % served_at(lambda _: nothing.wait())])
    patient.misses("upstream_wants_tls")


@test
def an_upstream_with_a_wrong_certificate_is_a_failure(bench):
    own, other = (Authority(bench.folder(), n) for n in ("own", "other"))
    upstream = bench.upstream(tls=own.server())
    patient = Patient(bench, upstream=upstream)
    for ca in (None, other.file):
        patient.config["upstreams"]["api"]["ca"] = ca
        if ca is None:
            del patient.config["upstreams"]["api"]["ca"]
        got = patient.finds("upstream_tls")
        equal((got["where"], got["level"]), ("/upstreams/api", "fail"))
        assert "certificate" in got["words"], got
        assert "openssl s_client -connect 127.0.0.1:" in got["cure"], got
    patient.config["upstreams"]["api"]["ca"] = own.file
    patient.misses("upstream_tls")


@test
def unix_and_many_upstreams_are_reached(bench):
    path = os.path.join(bench.folder(), "up")
    patient = Patient(bench, upstream=bench.upstream())
    patient.config["upstreams"]["local"] = "unix:" + path
    bench.upstream(unix=path)
    for i in range(20):
        patient.config["upstreams"][f"n{i}"] = patient.upstream.url
    bad = [f for f in patient.look().values() if f["level"] == "fail"]
    equal(bad, [])


# --- brokers and sources ---------------------------------------------------

def with_stream(bench, **members):
    """A patient whose messages are in a Redis of their own."""
    stream = Stream(bench.own_redis(*WELL))
    patient = Patient(bench)
    message_source(patient.config, stream, **members)
    return patient, stream


@test
def a_source_that_is_well_is_well(bench):
    patient, stream = with_stream(bench, results={"stream": "done"})
    equal([f for f in patient.look().values()
           if f["level"] in LEVELS and f["name"] != "no_replica"], [])
    stream.add(body=b"{}", idempotency_key="k")
    assert patient.look()["source_waits"]["words"].startswith(
        "charges: 1 messages"), patient.look()["source_waits"]
    gateway = bench.serve(patient.config)
    gateway.wait_for_log("message", outcome="executed")
    gateway.stop()
    equal(patient.look()["source_waits"]["words"],
          "charges: 0 messages are unread")


@test
def it_takes_no_message_and_makes_no_group(bench):
    patient, stream = with_stream(bench)
    stream.add(body=b"{}")
    stream.redis("XGROUP", "CREATE", "charges", "other", "0")
    dump = stream.redis("DUMP", "charges")
    patient.look()
    equal((stream.redis("DUMP", "charges"), stream.redis.keys()),
          (dump, [b"charges"]))


@test
def a_broker_that_is_away_is_a_failure(bench):
    patient, stream = with_stream(bench)
    stream.redis.kill()
    got = patient.finds("broker_unreachable")
    equal((got["where"], got["level"]), ("/brokers/queue", "fail"))
    equal(patient.look()["source_rights"]["level"], "skip")
    stream.redis.start()
    patient.misses("broker_unreachable")


@test
def a_broker_that_refuses_our_login_is_a_failure(bench):
    patient, stream = with_stream(bench)
    broker = patient.config["brokers"]["queue"]
    broker.update({"user": "gate", "password": "pw"})
    got = patient.finds("broker_login")
    equal((got["where"], got["level"]), ("/brokers/queue", "fail"))
    # Words of a server get no second full stop.
    assert "is disabled. To do: " in patient.run().stdout, got
    del broker["user"], broker["password"]
    stream.redis("CONFIG", "SET", "requirepass", "pw")
    patient.finds("broker_login")
    broker["password"] = "pw"
    patient.misses("broker_login")


@test
def rights_that_a_stream_needs_are_missing(bench):
    patient, stream = with_stream(bench, results={"stream": "done"})
    patient.config["brokers"]["queue"].update(
        {"user": "gate", "password": "pw"})
    stream.redis("ACL", "SETUSER", "gate", "on", ">pw", "+ping")
    got = patient.finds("source_rights")
    equal((got["where"], got["level"]), ("/sources/charges", "fail"))
    for rule in ("+xreadgroup", "+xgroup|create"):
        assert rule in got["words"].split(), got
    # The cure may be told in two parts: a key is looked at when its command
    # is allowed.
    for _ in range(2):
        found = patient.look()["source_rights"]
        if found["level"] == "fail":
            line = found["cure"].split(" say: ")[1]
            equal(administrator(stream.redis, line), "OK")
    patient.misses("source_rights")
    for key in ("charges", "charges:dead", "done"):
        stream.redis("ACL", "SETUSER", "gate", "resetkeys", *(
            f"~{k}" for k in ("charges", "charges:dead", "done") if k != key))
        words = patient.finds("source_rights")["words"]
        assert words.split()[-1] == f"~{key}", words
    stream.redis("ACL", "SETUSER", "gate", "allkeys")
    gateway = bench.serve(patient.config)
    stream.add(body=b"{}", idempotency_key="k")
    gateway.wait_for_log("message", outcome="executed")
    equal(gateway.find_log("source_refused"), [])


@test
def a_broker_that_is_a_replica_is_a_failure(bench):
    patient, stream = with_stream(bench)
    patient.misses("broker_replica")
    stream.redis("REPLICAOF", "127.0.0.1", "1")
    equal(patient.finds("broker_replica")["where"], "/brokers/queue")
    stream.redis("REPLICAOF", "NO", "ONE")
    patient.misses("broker_replica")


@each([(name, name, option, value) for name, option, value in [
    ("broker_eviction", "maxmemory-policy", "allkeys-lru"),
    ("broker_persistence", "appendonly", "no")]])
def a_broker_that_may_forget_is_warned_of(bench, name, option, value):
    patient, stream = with_stream(bench)
    stream.redis("CONFIG", "SET", "maxmemory", "1gb")
    patient.misses(name)
    stream.redis("CONFIG", "SET", option, value)
    got = patient.finds(name)
    equal((got["where"], got["level"]), ("/brokers/queue", "warn"))
    run_command(got)
    patient.misses(name)


@test
def what_is_no_stream_is_a_failure(bench):
    patient, stream = with_stream(bench)
    stream.redis("SET", "charges", "x")
    got = patient.finds("source_missing")
    equal((got["where"], got["level"]), ("/sources/charges", "fail"))
    stream.redis("DEL", "charges")
    patient.misses("source_missing")


@each([("dead letters", {}, "charges:dead"),
       ("results", {"results": {"stream": "done"}}, "done")])
def what_has_the_place_of_a_stream_that_is_written_is_a_failure(
        bench, members, place):
    patient, stream = with_stream(bench, **members)
    patient.misses("source_missing")
    stream.redis("SET", place, "x")
    words = patient.finds("source_missing")["words"]
    assert words.endswith(f"{place} is no stream"), words
    stream.redis("DEL", place)
    patient.misses("source_missing")


@test
def entries_that_were_trimmed_unread_are_a_warning(bench):
    patient, stream = with_stream(bench)
    stream.redis("XGROUP", "CREATE", "charges", "onceproxy", "0", "MKSTREAM")
    for _ in range(10):
        stream.add(body=b"{}")
    stream.redis("XREADGROUP", "GROUP", "onceproxy", "c", "COUNT", 4,
                 "STREAMS", "charges", ">")
    stream.redis("XTRIM", "charges", "MAXLEN", 6)
    patient.misses("source_trimmed")
    stream.redis("XTRIM", "charges", "MAXLEN", 3)
    got = patient.finds("source_trimmed")
    equal((got["where"], got["level"]), ("/sources/charges", "warn"))
    assert got["words"].endswith(": 3"), got


@test
def messages_that_wait_are_a_warning(bench):
    patient, stream = with_stream(bench)
    stream.add("1500000000000-0", body=b"{}", idempotency_key="k")
    got = patient.finds("source_waits")
    equal((got["where"], got["level"]), ("/sources/charges", "warn"))
    assert ": 1, the oldest for " in got["words"], got
    gateway = bench.serve(patient.config)
    gateway.wait_for_log("message", outcome="executed")
    patient.misses("source_waits")


@test
def a_stream_of_a_cluster_is_looked_at_where_it_is(bench):
    cluster = bench.cluster()
    patient = Patient(bench)
    source_of = {"broker": "queue", "request": {
        "path": "/v1/charges", "headers": {"Authorization": http.TENANT}}}
    patient.config["brokers"] = {"queue": {
        "cluster": [cluster.masters[0].address]}}
    names = ["{%d}" % n for n in range(8)]
    patient.config["sources"] = {
        f"s{n}": {**source_of, "stream": name}
        for n, name in enumerate(names)}
    owner = cluster.owner(slot_of("{5}"))
    owner("SET", "{5}", "x")
    got = patient.finds("source_missing")
    owner("DEL", "{5}")
    equal((got["where"], got["words"]),
          ("/sources/s5", "what the source reads or writes is not there, "
           "or is something else: {5} is no stream"))
    patient.misses("source_rights")


# --- a relay ---

def with_relay(bench):
    if not programs() or is_without("postgres"):
        raise tap.Skip("no PostgreSQL, or built without it")
    postgres = bench.postgres_for_all
    postgres("CREATE ROLE gate LOGIN; GRANT ALL ON SCHEMA public TO gate")
    patient = Patient(bench)
    relay(patient.config, postgres)
    url = postgres.url.replace("//postgres@", "//gate@")
    patient.config["brokers"]["shop"]["postgres"] = url
    return patient, postgres


def leave(patient, bench):
    """Has no PostgreSQL where the broker is looked for."""
    patient.config["brokers"]["shop"]["postgres"] = \
        f"postgresql:///postgres?host={bench.folder()}"


@test
def a_relay_that_is_well_is_well(bench):
    patient, postgres = with_relay(bench)
    for name in ("relay_unreachable", "relay_table", "relay_rights"):
        patient.misses(name)
    equal(postgres("SELECT to_regclass('ledger')"), [""])


@test
def a_relay_whose_postgresql_is_away_or_refuses_us_is_a_failure(bench):
    patient, postgres = with_relay(bench)
    postgres("ALTER ROLE gate NOLOGIN")
    got = patient.finds("relay_unreachable")
    equal(got["where"], "/relays/ledger")
    assert "not permitted to log in" in got["words"], got
    equal(patient.look()["relay_table"]["level"], "skip")
    leave(patient, bench)
    patient.finds("relay_unreachable")


@test
def a_table_that_is_not_a_relays_is_a_failure(bench):
    patient, postgres = with_relay(bench)
    postgres("CREATE TABLE ledger (id text PRIMARY KEY, key_id text)")
    got = patient.finds("relay_table")
    assert "no column route, from, to" in got["words"], got


@test
def a_right_that_a_relay_has_not_is_a_failure(bench):
    patient, postgres = with_relay(bench)
    postgres("REVOKE ALL ON SCHEMA public FROM gate, PUBLIC; "
             "GRANT USAGE ON SCHEMA public TO gate")
    got = patient.finds("relay_rights")
    assert "CREATE ON SCHEMA public" in got["words"], got
    postgres(got["cure"].split("say: ")[1])
    patient.misses("relay_rights")
    gateway = bench.serve(patient.config)
    gateway.wait_for_log("relay_up")
    gateway.stop()
    postgres("REASSIGN OWNED BY gate TO postgres")
    got = patient.finds("relay_rights")
    for words in ('INSERT ON "ledger"', 'UPDATE ON "ledger_position"'):
        assert words in got["words"], got
    postgres(got["cure"].split("say: ")[1])
    patient.misses("relay_rights")


def with_topic_relay(bench, kafka):
    if is_without("kafka"):
        raise tap.Skip("built without Kafka")
    patient = Patient(bench)
    topic_relay(patient.config, kafka, f"outcomes-{time.time_ns()}")
    return patient, patient.config["relays"]["ledger"]["topic"]


@test
def a_topic_of_a_relay_that_is_not_there_is_a_failure(bench):
    kafka = bench.kafka
    patient, topic = with_topic_relay(bench, kafka)
    got = patient.finds("relay_topic")
    equal(got["where"], "/relays/ledger")
    assert topic in got["words"], got
    equal(kafka.partitions(topic), [])
    kafka.topic(topic)
    for name in ("relay_topic", "relay_unreachable"):
        patient.misses(name)


# --- an outbox ---

def with_outbox(bench, key="bigserial", **members):
    if not programs() or is_without("postgres"):
        raise tap.Skip("no PostgreSQL, or built without it")
    outbox = Outbox(bench.postgres_for_all, key=key)
    outbox.postgres("CREATE ROLE gate LOGIN; GRANT ALL ON SCHEMA public "
                    "TO gate; GRANT SELECT, DELETE ON outbox TO gate")
    patient = Patient(bench)
    outbox_source(patient.config, outbox, **members)
    url = outbox.postgres.url.replace("//postgres@", "//gate@")
    patient.config["brokers"]["shop"]["postgres"] = url
    return patient, outbox.postgres


def about_sources(patient):
    return [f for f in patient.look().values() if f["level"] != "ok"
            and f["name"].startswith(("broker_", "source_"))]


@test
def an_outbox_that_is_well_is_well(bench):
    patient, postgres = with_outbox(bench)
    equal([f["name"] for f in about_sources(patient)], ["source_snapshot"])
    postgres("GRANT pg_read_all_stats TO gate")
    equal(about_sources(patient), [])
    equal(patient.look()["source_waits"]["words"],
          "outbox: 0 messages are unread")
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    equal(postgres(tables), ["1"])


@test
def a_postgresql_that_is_away_or_refuses_us_is_a_failure(bench):
    patient, postgres = with_outbox(bench)
    postgres("ALTER ROLE gate NOLOGIN")
    got = patient.finds("broker_login")
    equal((got["where"], got["level"]), ("/brokers/shop", "fail"))
    assert "gate" in got["words"] and "\n" not in got["words"], got
    leave(patient, bench)
    equal(patient.finds("broker_unreachable")["where"], "/brokers/shop")
    equal(patient.look()["source_index"]["level"], "skip")


@test
def a_postgresql_that_takes_no_writes_is_a_failure(bench):
    patient, postgres = with_outbox(bench)
    patient.misses("broker_replica")
    postgres("ALTER ROLE gate SET default_transaction_read_only = on")
    equal(patient.finds("broker_replica")["level"], "fail")
    equal(patient.look()["broker_login"]["level"], "ok")


@test
def a_table_or_column_that_is_not_there_is_a_failure(bench):
    patient, postgres = with_outbox(bench)
    postgres("ALTER TABLE outbox RENAME COLUMN type TO kind")
    got = patient.finds("source_missing")
    equal((got["where"], got["level"]), ("/sources/outbox", "fail"))
    assert got["words"].endswith("the table outbox has no column type, "
                                 "which is its columns.type"), got
    columns = patient.config["sources"]["outbox"]["columns"]
    columns["type"] = None
    patient.misses("source_missing")
    columns["type"] = "kind"
    patient.misses("source_missing")
    postgres("ALTER TABLE outbox ALTER headers TYPE text")
    assert "json" in patient.finds("source_missing")["words"]
    columns["headers"] = None
    patient.misses("source_missing")
    postgres("DROP TABLE outbox")
    assert "no table outbox" in patient.finds("source_missing")["words"]


@each([("to read", "REVOKE SELECT ON outbox FROM gate", {}, "SELECT"),
       ("to delete", "REVOKE DELETE ON outbox FROM gate", {}, "DELETE"),
       ("to mark", "SELECT", {"finish": {"set": "published_at"}}, "UPDATE"),
       ("to make a table", "REVOKE ALL ON SCHEMA public FROM gate; "
        "GRANT USAGE ON SCHEMA public TO gate", {}, "CREATE"),
       ("to make two tables", "REVOKE ALL ON SCHEMA public FROM gate; "
        "GRANT USAGE ON SCHEMA public TO gate",
        {"results": {"table": "answers"}}, "CREATE"),
       ("to put", "CREATE TABLE answers (id text)",
        {"results": {"table": "answers"}}, "INSERT")])
def a_right_to_a_table_is_missing(bench, sql, members, right):
    patient, postgres = with_outbox(bench, **members)
    postgres(sql)
    got = patient.finds("source_rights")
    equal((got["where"], got["level"]), ("/sources/outbox", "fail"))
    assert got["words"].split(": ")[1].startswith(right), got
    equal(got["words"].count(right), 1)
    postgres(got["cure"].split(" say: ")[1])
    patient.misses("source_rights")


@test
def an_order_of_what_has_none_is_a_failure(bench):
    patient, postgres = with_outbox(bench, key="uuid", order_by="entity")
    got = patient.finds("source_order")
    equal((got["where"], got["level"]), ("/sources/outbox", "fail"))
    source_of = patient.config["sources"]["outbox"]
    source_of["columns"]["order"] = "made"
    patient.misses("source_order")
    del source_of["columns"]["order"], source_of["order_by"]
    patient.misses("source_order")


@each([("that are ordered by time", {"columns": {"order": "made"}}),
       ("that stay", {"finish": {"set": "published_at"}}),
       ("that stay, by time", {"finish": {"set": "published_at"},
                               "columns": {"order": "made"}})])
def an_index_of_unread_rows_is_missing(bench, members):
    patient, postgres = with_outbox(bench, **members)
    got = patient.finds("source_index")
    equal((got["where"], got["level"]), ("/sources/outbox", "warn"))
    postgres(got["cure"].split(" say: ")[1])
    patient.misses("source_index")
    postgres("INSERT INTO outbox (aggregateid, payload) "
             "SELECT n, '{}' FROM generate_series(1, 1000) AS n")
    postgres("ANALYZE outbox")
    patient.misses("source_index")


@test
def rows_without_an_id_are_a_warning(bench):
    patient, postgres = with_outbox(bench, finish={"set": "published_at"})
    postgres("ALTER TABLE outbox DROP CONSTRAINT outbox_pkey; "
             "ALTER TABLE outbox ALTER id DROP NOT NULL; "
             "INSERT INTO outbox (id, published_at) VALUES (NULL, now())")
    patient.misses("source_no_id")
    postgres("INSERT INTO outbox (id) VALUES (NULL)")
    got = patient.finds("source_no_id")
    equal((got["where"], got["level"]), ("/sources/outbox", "warn"))
    assert "outbox" in got["words"], got


@test
def a_column_that_is_never_null_is_a_failure(bench):
    patient, postgres = with_outbox(bench, finish={"set": "status"})
    postgres("ALTER TABLE outbox ADD status text NOT NULL DEFAULT 'pending'; "
             "GRANT UPDATE (status) ON outbox TO gate")
    got = patient.finds("source_missing")
    assert "nothing can ever be read" in got["words"], got
    patient.config["sources"]["outbox"]["finish"] = {
        "set": "status", "from": "pending", "to": "sent"}
    patient.misses("source_missing")
    cure = patient.finds("source_index")["cure"].split(" say: ")[1]
    assert cure.endswith("(\"id\") WHERE \"status\" = 'pending'"), cure
    postgres(cure)
    patient.misses("source_index")


@each([("a trigger", """CREATE FUNCTION drop_it() RETURNS trigger
        LANGUAGE plpgsql AS $$ BEGIN DELETE FROM outbox WHERE id = NEW.id;
        RETURN NULL; END $$; CREATE TRIGGER gone AFTER INSERT ON outbox
        FOR EACH ROW EXECUTE FUNCTION drop_it()""", "the trigger gone"),
       ("a trigger for all tables", """CREATE FUNCTION drop_it() RETURNS
        trigger LANGUAGE plpgsql AS $$ BEGIN EXECUTE format(
        'DELETE FROM %I WHERE id = $1', TG_TABLE_NAME) USING NEW.id;
        RETURN NULL; END $$; CREATE TRIGGER gone AFTER INSERT ON outbox
        FOR EACH ROW EXECUTE FUNCTION drop_it()""", "the trigger gone"),
       ("a rule", """CREATE RULE gone AS ON INSERT TO outbox DO ALSO
        DELETE FROM outbox WHERE id = NEW.id""", "the rule gone")])
def rows_that_are_deleted_as_they_are_inserted_are_a_warning(
        bench, sql, what):
    patient, postgres = with_outbox(bench)
    postgres("""CREATE FUNCTION wake() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NOTIFY news; RETURN NULL; END $$; CREATE TRIGGER wake
        AFTER INSERT ON outbox FOR EACH STATEMENT EXECUTE FUNCTION wake()""")
    patient.misses("source_deleting")
    postgres(sql)
    got = patient.finds("source_deleting")
    equal((got["where"], got["level"]), ("/sources/outbox", "warn"))
    assert what in got["words"] and "wake" not in got["words"], got
    assert "remove-after-insert" in got["cure"], got


@test
def an_old_snapshot_is_a_warning(bench):
    patient, postgres = with_outbox(bench)
    postgres("GRANT pg_read_all_stats TO gate")
    holder = bench.process(Process(
        [*as_user(), os.path.join(postgres.bin, "psql"), "-h",
         postgres.folder, "-U", "postgres", "-d", "postgres", "-XAtc",
         "BEGIN ISOLATION LEVEL REPEATABLE READ", "-c",
         "SELECT 'it has begun'", "-c", "SELECT pg_sleep(600)"]))
    holder.wait_for_line("it has begun")
    patient.misses("source_snapshot")
    postgres("DO $$ BEGIN FOR i IN 1..10001 LOOP "
             "PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$")
    got = patient.finds("source_snapshot")
    equal((got["where"], got["level"]), ("/brokers/shop", "warn"))
    pid = re.search(r"process (\d+)", got["words"]).group(1)
    postgres(f"SELECT pg_terminate_backend({pid})")
    eventually(lambda: patient.look()["source_snapshot"]["level"] == "ok",
               "it is gone")


# --- a cluster -------------------------------------------------------------

def on_all(cluster, *words):
    for node in cluster.nodes:
        node(*words)


def of_cluster(patient, name):
    """All findings of that name that are not well."""
    return [f for f in json.loads(patient.run("--json").stdout)["findings"]
            if f["name"] == name and f["level"] in LEVELS]


@test
def each_master_of_a_cluster_is_looked_at(bench):
    cluster = bench.cluster()
    patient = Patient(bench, cluster)
    patient.misses("redis_unreachable")
    patient.misses("rights")
    patient.misses("eviction")
    # What is wrong with several of them is reported for each.
    equal([f["words"].split(": ")[0] for f in
           of_cluster(patient, "persistence")],
          [m.address for m in sorted(
              cluster.masters, key=lambda m: first_shard(cluster, m))])
    node = cluster.masters[1]
    node("CONFIG", "SET", "maxmemory-policy", "allkeys-lru",
         "maxmemory", "1gb")
    got, = of_cluster(patient, "eviction")
    node("CONFIG", "SET", "maxmemory-policy", "noeviction", "maxmemory", "0")
    equal((got["where"], got["level"]), ("/store/cluster", "fail"))
    assert got["words"].startswith(node.address + ": Redis may evict"), got


def first_shard(cluster, master):
    return next(n for n in range(64)
                if cluster.owner(slot_of(f"{{{n}}}")) is master)


@test
def a_cluster_without_replicas_and_partial_service_is_warned_of(bench):
    cluster = bench.cluster()
    patient = Patient(bench, cluster)
    equal(len(of_cluster(patient, "cluster_replica")), 3)
    equal(of_cluster(patient, "no_replica"), [])
    got = of_cluster(patient, "cluster_coverage")[0]
    words = shlex.split(re.findall(r"(redis-cli [^,;]+)", got["cure"])[0])
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    patient.misses("cluster_coverage")
    on_all(cluster, "CONFIG", "SET", "cluster-require-full-coverage", "yes")


@test
def a_cluster_that_is_down_is_a_failure(bench):
    cluster = bench.cluster()
    patient = Patient(bench, cluster)
    patient.misses("cluster_fails")
    slot = next(n for n in range(16384) if n not in
                {slot_of(f"{{{shard}}}") for shard in range(64)})
    owner = cluster.owner(slot)
    on_all(cluster, "CLUSTER", "DELSLOTS", slot)
    eventually(lambda: of_cluster(patient, "cluster_fails"), "it is found")
    owner("CLUSTER", "ADDSLOTS", slot)
    cluster.wait_well()
    patient.misses("cluster_fails")


@test
def seeds_that_do_not_answer_are_a_failure(bench):
    patient = Patient(bench)
    closed, port = refused_port()
    patient.config["store"] = {"cluster": [f"127.0.0.1:{port}"]}
    got = patient.finds("redis_unreachable")
    equal((got["where"], got["level"]), ("/store/cluster", "fail"))
    assert f"127.0.0.1:{port}" in got["cure"], got
    closed.close()


@test
def what_acl_says_is_enough_for_a_cluster(bench):
    cluster = bench.cluster()
    patient = Patient(bench, cluster, store={
        "user": "gate", "password": "pw", "shards": 1})
    line = patient.run("--acl").stdout.strip().replace("PASSWORD", "pw")
    on_all(cluster, *line.split())
    patient.misses("rights")
    for right in ("asking", "cluster|info", "cluster|shards"):
        assert f" +{right}" in line, line
        on_all(cluster, "ACL", "SETUSER", "gate", "-" + right)
        assert f"may not: +{right} (" in patient.finds("rights")["words"]
        on_all(cluster, "ACL", "SETUSER", "gate", "+" + right)
    gateway = bench.serve(patient.config)
    slot = slot_of("{0}")
    for n in range(3):
        equal(gateway.ask("k").status, 201)
        owner = cluster.owner(slot)
        cluster.move(slot, next(
            m for m in cluster.masters if m is not owner))
        equal(gateway.ask(f"k{n}").status, 201)
    equal(patient.upstream.count(), 4)
    equal([e["event"] for e in gateway.events if e["level"] == "error"], [])


tap.main()
