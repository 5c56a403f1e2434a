# SPDX-License-Identifier: BSD-2-Clause
"""The processes of a history, the faults that happen to them, and what is left
when all of that is over."""

import glob
import json
import os
import signal
import threading
import time
from datetime import datetime

from once import history, http
from once.history import Record
from once.http import Client, build
from once.ports import own_address
from once.redis import RedisError
from once.wait import PATIENCE, Late, eventually

from bank import ABSENT, TOLD, Bank
from happen import Guarded
from plan import (CALM_S, FAULTY_S, LEASE_S, MAX_ATTEMPTS, SETTLE_S,
                  UPSTREAM_TIMEOUT_S)

STALL_S = 0.3  # a gap this long means that the machine has stalled
BEAT_S = 0.05
POLICIES = {"hold": "hold", "retry": "retry",
            "reconcile": {"reconcile": {
                "path": "/v1/reconcile/by-key/{key}", "status": TOLD,
                "settle": f"{SETTLE_S}s", "absent": [ABSENT]}}}
GUARDS = {"": {}, "newer": {"newer_only": "/version"},
          "serial": {"serialize": True}}
# Bodies that others send, and how much room there is for all: more than that.
ROOM, OTHERS, PIECE_BYTES = 256 * 1024, 80, 4000
# Events in a gateway's log that mean that Redis was out of reach or slow.
TROUBLE = ("store_down", "settle_late", "lease_lost", "settle_lost",
           "store_refused")


class World(Guarded):
    STORE = {"timeout": "400ms"}
    LANES = ("gateway-0", "gateway-1", "redis", "network", "network-2",
             "operator")
    BY_PATH = False  # the path names the entity, and the body does as well

    def __init__(self, bench, plan, program=None, env=None):
        self.bench, self.plan = bench, plan
        self.program, self.env = program, env
        self.history = history.History(MAX_ATTEMPTS, LEASE_S, SETTLE_S)
        self.start = time.monotonic()
        self.wall = time.time() - self.start  # of time 0
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.counts = {}
        self.done = False  # everything healed, and the gateways ended well
        self.broken = []  # what went wrong in a thread of ours
        self.redis = self.make_redis()
        self.bank = self.make_bank()
        bench.upstreams.append(self.bank)
        self.to_redis = self.ways_to_redis()
        self.to_bank = [bench.proxy(self.bank.url) for _ in (0, 1)]
        self.doors = [bench.proxy("127.0.0.1:1") for _ in (0, 1)]
        options = plan.options()
        self.configs = [bench.config(
            self.to_bank[i].url, redis=self.redis_for(i),
            routes=[self.route(name, options["in_flight"])
                    for name in plan.ROUTES], workers=options["workers"],
            listen=[own_address()], admin={"listen": own_address()},
            limits={"in_flight_bytes": ROOM},
            store=dict(self.STORE), drain_timeout="2s",
            options={"timeout": f"{UPSTREAM_TIMEOUT_S}s",
                     "connect_timeout": "1s", "reuse": options["reuse"]},
            log={"level": os.environ.get("ONCE_HISTORY_LOG", "info")},
            **self.more(i)) for i in (0, 1)]
        self.gateways = [None, None]
        for i in (0, 1):
            self.serve(i)

    def make_bank(self):
        return Bank(self.plan, self.history)

    def more(self, i):
        """Of gateway i's configuration."""
        return {}

    def beside(self):
        """What else runs beside the clients."""
        return []

    # --- the routes --------------------------------------------------------

    def route(self, name, in_flight):
        of = Record(name, "", "")
        path, about = f"/v1/{name}", {}
        if of.guard:
            about = {**GUARDS[of.guard], "entity": ["/account"]}
        if of.guard and self.BY_PATH:
            path += "/{account}"
            about["entity"] = {"path": "account"}
        return {"name": name, "methods": ["POST"], "path": path,
                "upstream": "api", "idempotency": {
                    "namespace": path[len("/v1/"):], **about,
                    "on_unknown": self.policy(of.on_unknown),
                    "in_flight": in_flight, "lease": f"{LEASE_S}s",
                    "max_attempts": MAX_ATTEMPTS,
                    "max_response_body": "4KiB", "wait_timeout": "3s"}}

    def policy(self, on_unknown):
        return POLICIES[on_unknown]

    def path_of(self, record):
        return f"/v1/{self.namespace(record)}"

    def namespace(self, record):
        if record.guard and self.BY_PATH:
            return f"{record.route}/{record.entity}"
        return record.route

    # --- the store ---------------------------------------------------------

    def make_redis(self):
        return self.bench.own_redis(
            "--appendonly", "yes", "--appendfsync", "always")

    def ways_to_redis(self):
        return [self.bench.proxy(self.redis.url) for _ in (0, 1)]

    def redis_for(self, i):
        return self.to_redis[i].url

    def serve(self, i):
        gateway = self.bench.serve(
            self.configs[i], self.env, program=self.program)
        self.doors[i].retarget(gateway.address)
        self.gateways[i] = gateway

    def now(self):
        return time.monotonic() - self.start

    # --- threads -----------------------------------------------------------

    def beat(self):
        """Notices when the machine stalls."""
        last = time.monotonic()
        while not self.over.wait(BEAT_S):
            now = time.monotonic()
            if now - last > BEAT_S + STALL_S:
                self.history.faults.append(
                    history.Fault("the machine stalls", last, now, True))
            last = now

    def lane(self, name):
        """One fault after the other, until the time is over."""
        for fault in self.plan.faults(name):
            if name.startswith("gateway-"):
                fault.gateway = int(name[-1])
            calm = CALM_S - self.now() % (CALM_S + FAULTY_S)
            if self.over.wait(fault.pause + max(calm, 0)):
                return
            kind = f"{name.split('-')[0]} {fault.kind}"
            with self.lock:
                self.counts[kind] = self.counts.get(kind, 0) + 1
            begin = time.monotonic()
            entry = history.Fault(f"{kind} {fault.gateway}", begin,
                                  float("inf"))
            if fault.kind != "resolve":
                self.history.faults.append(entry)
            try:
                getattr(self, kind.replace(" ", "_"))(fault)
            finally:
                entry.end = time.monotonic()

    # --- faults: gateways --------------------------------------------------

    def gateway_kill(self, fault):
        self.gateways[fault.gateway].kill()
        self.over.wait(fault.length * 2.5)
        self.serve(fault.gateway)

    def gateway_freeze(self, fault):
        gateway = self.gateways[fault.gateway]
        gateway.signal(signal.SIGSTOP)
        longer = LEASE_S if fault.bytes else 0  # than its leases
        self.over.wait(0.3 + longer + fault.length * 1.5)
        gateway.signal(signal.SIGCONT)

    def gateway_drain(self, fault):
        self.gateways[fault.gateway].stop()
        self.serve(fault.gateway)

    def gateway_reload(self, fault):
        self.gateways[fault.gateway].signal(signal.SIGHUP)

    def gateway_fill(self, fault):
        """Bodies that others send take up all memory for bodies."""
        others = []
        try:
            for number in range(OTHERS):
                client = Client(self.gateways[fault.gateway].address)
                others.append(client)
                client.send(build("POST", f"/v1/{self.plan.ROUTES[0]}", [
                    ("Authorization", "another"),
                    ("Idempotency-Key", f"another-{number}"),
                    ("Content-Length", PIECE_BYTES + 1)]))
                client.send(b"x" * PIECE_BYTES)
            self.over.wait(0.2 + fault.length)
        except OSError:
            pass  # one too many is answered at once
        finally:
            for client in others:
                client.reset()

    # --- faults: Redis -----------------------------------------------------

    def redis_kill(self, fault):
        self.redis.kill()
        self.over.wait(fault.length)
        self.redis.start()

    def redis_freeze(self, fault):
        self.redis.freeze()
        self.over.wait(fault.length * 1.5 * LEASE_S)
        self.redis.thaw()

    def redis_linger(self, fault):
        """Replies that come later than anybody waits for them."""
        for proxy in self.to_redis:
            proxy.hold("replies")
        self.over.wait(0.3 + fault.length)
        for proxy in self.to_redis:
            proxy.release("replies")

    def redis_fill(self, fault):
        """It refuses what needs memory."""
        for redis in self.masters():
            redis("CONFIG", "SET", "maxmemory", 1)
        self.over.wait(0.2 + fault.length)
        self.redis_free()

    def redis_free(self):
        for redis in self.masters():
            redis("CONFIG", "SET", "maxmemory", 0)

    def redis_flush(self, fault):
        self.redis("SCRIPT", "FLUSH")

    def redis_disconnect(self, fault):
        self.redis("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    # --- faults: the network -----------------------------------------------

    def cut(self, proxy, fault, what):
        """Cuts the next few; whatever is left of that is dropped."""
        getattr(proxy, what)(fault.bytes, times=1 + int(fault.length * 4),
                             how=fault.how)
        self.over.wait(0.2 + fault.length * 0.5)
        proxy.pass_all()

    def network_redis_replies(self, fault):
        self.cut(self.to_redis[fault.gateway], fault, "cut_replies")

    def network_redis_requests(self, fault):
        self.cut(self.to_redis[fault.gateway], fault, "cut_requests")

    def network_redis_reset(self, fault):
        self.to_redis[fault.gateway].reset_all()

    def network_redis_hold(self, fault):
        self.to_redis[fault.gateway].hold()
        self.over.wait(fault.length * 1.5 * LEASE_S)
        self.to_redis[fault.gateway].release()

    def network_upstream_refuse(self, fault):
        """Cuts existing connections, so that new ones have to be made."""
        proxy = self.to_bank[fault.gateway]
        proxy.refuse()
        proxy.reset_all()
        self.over.wait(fault.length)
        proxy.accept()

    def network_upstream_replies(self, fault):
        self.cut(self.to_bank[fault.gateway], fault, "cut_replies")

    def network_upstream_requests(self, fault):
        self.cut(self.to_bank[fault.gateway], fault, "cut_requests")

    def network_upstream_reset(self, fault):
        self.to_bank[fault.gateway].reset_all()

    def network_client_replies(self, fault):
        self.cut(self.doors[fault.gateway], fault, "cut_replies")

    def network_client_requests(self, fault):
        self.cut(self.doors[fault.gateway], fault, "cut_requests")

    def network_bytes(self, fault):
        # There may be none to Redis.
        found = [p[fault.gateway] for p in (
            self.to_redis, self.to_bank, self.doors) if p]
        for proxy in found:
            proxy.split_bytes()
        self.over.wait(fault.length * 0.5)
        for proxy in found:
            proxy.split_bytes(False)

    # --- the operator ------------------------------------------------------

    def operator_resolve(self, fault):
        """Looks at a known key, and decides about it where it is UNKNOWN or
        FAILED."""
        with self.lock:
            known = list(dict.fromkeys(op.record for op in self.history.ops))
        if known:
            # Mostly the younger ones.
            at = max(0, len(known) - 1 - int(fault.story ** 2 * len(known)))
            self.resolve(known[at], fault.gateway)

    def resolve(self, record, gateway):
        """Does what an operator does who knows the upstream's ledger."""
        try:
            admin = self.gateways[gateway].ready["admin"]
            found = ask_admin(admin, "POST", "/keys/lookup", {
                "namespace": self.namespace(record), "key": record.key,
                "scope": {"Authorization": record.tenant}})
        except (OSError, AssertionError, AttributeError):
            return
        if found is None or found.status != 200 or \
                found.json()["state"] not in ("UNKNOWN", "FAILED"):
            return
        with self.bank.log:
            done = self.bank.effects(record)
            if done:
                given, _ = self.bank.give(record, "store", 200,
                                          None, "o")
        act = history.Act(record, "complete" if done else "release",
                          time.monotonic())
        self.history.acts.append(act)
        body = {} if not done else {
            "status": 200, "headers": [list(f) for f in given.answer.fields],
            "body": given.answer.body.decode()}
        try:
            got = ask_admin(admin, "POST", f"/keys/{found.json()['key_id']}"
                            f"/{act.act}", body)
        except (OSError, AssertionError):
            return  # nobody knows
        if got is not None and got.status == 200:
            act.end = time.monotonic()
        elif got is not None and got.status in (404, 409):
            self.history.acts.remove(act)

    # --- the end -----------------------------------------------------------

    def heal(self):
        """Ends all faults; waits until everything answers again."""
        self.bank.honest = True
        for proxy in (*self.to_redis, *self.to_bank, *self.doors):
            proxy.pass_all()
            proxy.release()
            proxy.split_bytes(False)
            proxy.accept()
        for gateway in self.gateways:
            eventually(lambda g=gateway: ask_admin(
                g.ready["admin"], "GET", "/readyz").status == 200,
                "the gateway is ready again", 3 * PATIENCE)

    def trouble(self):
        """Where a gateway's log says that Redis was slow, that is a fault too:
        a slow disk is enough."""
        for gateway in self.bench.gateways:
            for entry in list(gateway.events):
                if entry.get("event") in TROUBLE:
                    at = wall_of(entry["ts"]) - self.wall
                    self.history.faults.append(history.Fault(
                        f"a log says {entry['event']}",
                        at - LEASE_S / 2, at))

    def logs(self, story):
        """The log lines of the gateways about a record."""
        ids = {f"op-{op.number}" for op in story.ops}
        entries = [(e, g) for g in self.bench.gateways for e in g.events]
        keys = {e.get("key_id") for e, _ in entries
                if e.get("request_id") in ids} - {None}
        lines = []
        for entry, gateway in entries:
            if entry.get("key_id") in keys or entry.get("id") in keys:
                at = wall_of(entry["ts"]) - self.wall
                lines.append(f"{at:.3f} pid {gateway.pid} " + " ".join(
                    f"{k}={v}" for k, v in entry.items() if k != "ts"))
        return sorted(lines)

    def processing(self):
        """Names of records that are PROCESSING."""
        found = []
        for redis in self.masters():
            for name in redis.keys():
                try:
                    if redis("GETRANGE", name, 0, 2) in (b"o1P", b"o2P"):
                        found.append(name)
                except RedisError:
                    pass  # not a record
        return found

    def masters(self):
        return [self.redis]

    def wait_none_is_processing(self):
        """The contract allows a lease and five seconds; before that, what is
        in flight upstream may take a while."""
        try:
            eventually(lambda: not self.processing(), "no lease is open",
                       LEASE_S + UPSTREAM_TIMEOUT_S + 2 * PATIENCE)
        except Late:
            raise AssertionError(
                f"still PROCESSING: {self.processing()}") from None

    def drain(self):
        """Both gateways must end well, and leave nothing in their journals but
        what a kill has torn."""
        for gateway in self.gateways:
            gateway.stop()
        for config in self.configs:
            for name in glob.glob(os.path.join(
                    config["state_dir"], "journal", "*")):
                size = os.path.getsize(name)
                assert size == 0 or ".damaged-" in name, (
                    f"{size} bytes are left in {name}")
        for gateway in self.bench.gateways:
            gateway.check_sanitizer()


def wall_of(stamp):
    """Seconds of a time as the log has it."""
    return datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def ask_admin(address, method, target, body=None):
    data = None if body is None else json.dumps(body).encode()
    return http.ask(address, http.build(
        method, target, (), data, host="localhost"), PATIENCE)
