# SPDX-License-Identifier: BSD-2-Clause
"""The matrix of faults: each step of tbl/steps.h x everything that can happen
to the world while a gateway is stopped there.

A cell has a gateway (the test build, base/test_build.h), a Redis and an
upstream of its own.  The gateway stops at the step, the fault strikes, the
world is healed, retries are sent until their answer is final, and then the
promise is checked.  Many cells run at once; a test is a step."""

import os
import re
import select
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

from once import tap, tier
from once.bench import Bench
from once.demo import source
from once.fault_proxy import REPLIES, REQUESTS, Cut, FaultProxy
from once.http import TENANT, Broken, Client, build, keyed
from once.wait import PATIENCE

import checker
from bank import Bank
from faults import PATIENT
from scenarios import REACHED

# Only the test build stops at a step.
os.environ["ONCEPROXY"] = os.environ.get("ONCEPROXY_TEST_BUILD", "onceproxy")
AT_ONCE = int(os.environ.get("ONCE_CELLS", "10"))  # cells of one program
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")
RETRY_S = 0.05  # between two retries
AMOUNT = b'{"amount":1000,"order":"o-1"}'


def steps(*machines):
    """The steps of these machines in tbl/steps.h, as ONCE_FAULT names them."""
    with open(source("src/tbl/steps.h"), encoding="utf-8") as file:
        found = re.findall(r"^([A-Z]+)_STEP\(\s*([A-Z_]+),", file.read(),
                           re.M)
    names = [f"{machine.lower()}:{name}" for machine, name in found
             if machine.lower() in machines]
    assert len(names) > 20, "tbl/steps.h reads otherwise than it did"
    return names


class RedisProxy(FaultProxy):
    """Between a gateway and its Redis."""

    word = None  # the reply to a command with this word is cut

    def cut_answer_to(self, word, after_bytes=0):
        with self.changed:
            self.word, self.after_bytes = word, after_bytes

    def _pass(self, link, way):
        if (way.name == REQUESTS and self.word is not None
                and self.word in way.buffer):
            link.condemned, self.word = True, None
        super()._pass(link, way)

    def _begin(self, link, way):
        super()._begin(link, way)
        # NOSCRIPT: the script did not run, so the next reply is meant.
        if (way.name == REPLIES and getattr(link, "condemned", False)
                and b"-NOSCRIPT" not in way.buffer):
            way.left = self.after_bytes
            way.cut = Cut(self.after_bytes, 1, 1, "reset")


class Payment:
    """A request, sent on a connection of its own and not yet answered."""

    def __init__(self, cell, gateway, data):
        self.cell, self.done = cell, False
        self.sent_at = time.monotonic()
        self.client = Client(gateway.address)
        self.client.send(data)

    def result(self):
        """The answer; None where the connection ended without one."""
        self.done = True
        try:
            got = self.client.read()
        except (Broken, OSError):
            got = None
        self.client.close()
        if got is not None:
            self.cell.seen.append((time.monotonic(), got))
        return got

    def is_answered(self):
        return self.done or bool(
            select.select([self.client.sock], [], [], 0)[0])

    def leave(self, how):
        if not self.done:
            self.done = True
            getattr(self.client, how)()


class Look(Payment):
    """Asks what became of the payment, which is no answer to it."""

    def result(self):
        self.done = True
        try:
            got = self.client.read("GET")
        except (Broken, OSError):
            got = None
        self.client.close()
        return got


class Cell:
    def __init__(self, at, scenario, fault, env=None):
        self.at, self.scenario, self.fault = at, scenario(), fault
        self.env = env or {}
        self.bank = None
        self.database = self.pooler = None  # of the API, if the fault has one
        self.tenant = TENANT
        self.seen = []  # (when, answer) of this key
        self.payments = []
        self.others = []  # gateways besides the one that stops
        self.disk = None  # what the fault mounted
        self.hogs = []  # clients that hold memory
        self.refused_from = 0  # answers before any of them
        self.state_at_stop = None  # of the record
        self.final = None  # the last answer to a retry
        self.healed_at = None
        self.request_ids = 0

    def __str__(self):
        return f"{self.scenario.__class__.__name__} at {self.at}"

    def run(self):
        """Raises AssertionError where the promise was broken."""
        self.bench = Bench()
        started = time.monotonic()
        trouble = None
        try:
            self._run()
        except Exception:
            trouble = traceback.format_exc()
        logs = [(g.argv[-1], g.tail(60)) for g in self.bench.gateways]
        try:
            self.bench.clean()
        except Exception:
            if trouble is None:
                logs = [(g.argv[-1], g.tail(200)) for g in self.bench.gateways]
            trouble = (trouble or "") + traceback.format_exc()
        self.fault.clean(self)
        if trouble:
            raise AssertionError(self._tell(trouble, logs))
        return (f"{self.scenario.__class__.__name__}: at the stop "
                f"{self.state_at_stop}, in the end {self.final}, "
                f"{len(self.bank.paid)} of {len(self.bank.entries)} paid, "
                f"{time.monotonic() - started:.2f} s")

    def _tell(self, trouble, logs):
        text = [f"{self}:", trouble, "at the bank:"]
        if self.bank:
            text += [f"  {entry}" for entry in self.bank.entries]
        text += ["clients have seen:"]
        text += [f"  {answer}" for _, answer in self.seen]
        text += [f"the record at the stop: {self.state_at_stop}"]
        for name, lines in logs:
            text += [f"--- log of {name}", *lines]
        return "\n".join(text)

    def _run(self):
        self._build()
        self.fault.begin(self)
        self.scenario.prepare(self)
        self.gateway = self.bench.serve(
            self.config, env={"ONCE_FAULT": self.at, **self.env}, ready=False)
        is_ready = self._await_ready()
        self.scenario.provoke(self)
        self._await_stop()
        self.fault.strike(self)
        self.gateway.signal(signal.SIGCONT)
        if not is_ready and not self.fault.kills:
            self.gateway.wait_ready()
        self.fault.meanwhile(self)
        self.heal()
        if self.fault.kills:
            self.gateway = self.bench.serve(self.config)
        self.collect()
        for gateway in [self.gateway, *self.others]:
            self.settle(gateway)
        self.check()

    def check(self):
        checker.check(self)

    def _build(self):
        self.redis = self.bench.own_redis(*DURABLE)
        url = self.redis.url
        if self.fault.proxied:
            self.redis_proxy = RedisProxy(url)
            self.bench.proxies.append(self.redis_proxy)
            url = self.redis_proxy.url
        self.bank = Bank()
        self.bench.upstreams.append(self.bank)
        self.door = self.bench.proxy(self.bank.url)
        self.config = self.bench.config(
            self.door.url,
            {"lease": self.fault.lease, **self.scenario.idempotency},
            {**self.fault.options, **self.scenario.options}, url,
            workers=1, log={"level": "debug"}, limits=self.fault.limits,
            store={"timeout": self.fault.store_timeout},
            state_dir=self.fault.state_dir(self))
        self.config["routes"][0]["status_path"] = "/v1/keys/{key}"

    def _await_ready(self):
        """False: a message that was there has brought it to the step
        before."""
        gateway = self.gateway
        gateway.wait_until(
            lambda: gateway.find_log("ready") or gateway.ended or
            gateway.find_log("fault_point"), "the gateway is ready")
        if not gateway.find_log("ready") and gateway.find_log("fault_point"):
            return False
        gateway.wait_ready()
        return True

    def _await_stop(self):
        self.gateway.wait_for_log("fault_point", at=self.at)
        how = os.waitid(os.P_PID, self.gateway.pid,
                        os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert how.si_code == os.CLD_STOPPED, "the gateway ended at the step"
        self.stopped_at = time.monotonic()
        self.state_at_stop = self.record_state()

    # --- What scenarios and faults use -------------------------------------

    def serve_another(self):
        """Another gateway, which stops nowhere and meets no fault."""
        return self.bench.serve({
            **self.config, "state_dir": self.bench.folder(),
            "store": {"redis": self.redis.url, "timeout": PATIENT}},
            env=self.env)

    def pay(self, gateway):
        """Sends the payment, or a retry of it, which is the same bytes."""
        derived = "derive_key" in self.scenario.idempotency
        payment = Payment(self, gateway,
                          keyed(None if derived else "k", body=AMOUNT,
                                tenant=self.tenant))
        self.payments.append(payment)
        return payment

    def pass_by(self, gateway):
        """Sends a request that has no key."""
        self.request_ids += 1
        payment = Payment(self, gateway, build(
            "POST", "/plain", [("X-Request-Id", f"pass-{self.request_ids}")],
            AMOUNT))
        self.payments.append(payment)
        return payment

    def look(self, gateway):
        """Asks what became of the payment (status_path)."""
        look = Look(self, gateway, build(
            "GET", "/v1/keys/k", [("Authorization", self.tenant)]))
        self.payments.append(look)
        return look

    def collect(self):
        """Waits for the clients' answers."""
        for payment in self.payments:
            if not payment.done:
                payment.result()

    def has_said(self, *events):
        """Whether the gateway logged one of these since it stopped."""
        stopped = next(i for i, e in enumerate(self.gateway.events)
                       if e.get("event") == "fault_point")
        return any(e.get("event") in events
                   for e in self.gateway.events[stopped:])

    def revive_redis(self):
        if not self.redis.process.running():
            self.redis.start()

    def heal(self):
        if self.healed_at is not None:
            return
        self.fault.heal(self)
        self.scenario.heal(self)
        self.revive_redis()
        self.healed_at = time.monotonic()

    def record_state(self):
        """The letter of the record's state (lua/layout.lua); None where there
        is no record."""
        if not self.redis.process.running():
            return None
        for name in self.redis.keys():
            if b":r:" in name:
                return self.redis("GETRANGE", name, 2, 2).decode()
        return None

    # --- Retries -----------------------------------------------------------

    def settle(self, gateway, in_doubt=False):
        """Sends retries until the answer is final; in_doubt: the gateway that
        may know more cannot answer now."""
        retry = self._retry if self.scenario.keyed else self._pass_again
        self.answerable_from = max(self.healed_at, self.stopped_at)

        pause = threading.Event()
        until = time.monotonic() + PATIENCE
        while not retry(gateway, in_doubt):
            assert time.monotonic() < until, "no retry had a final answer"
            pause.wait(RETRY_S)

    def _pass_again(self, gateway, _in_doubt):
        """The gateway avoids a target that has failed, for a while."""
        self.final = self.pass_by(gateway).result()
        return self.final.status == 200

    def _retry(self, gateway, in_doubt):
        payment = self.pay(gateway)
        self.final = payment.result()
        assert self.final is not None, "a retry was not answered"
        if self.final.problem == "in-flight":
            checker.check_in_flight(
                self, payment.sent_at - self.answerable_from)
        return checker.is_final(self, self.final, in_doubt)


# --- Tests -----------------------------------------------------------------

pool = ThreadPoolExecutor(AT_ONCE)


def wanted(title):
    words = sys.argv[1:]
    return not words or any(word in title for word in words)


planned = []  # (step, cells) of all tests, in their order
runs = {}


def start_all():
    """Starts all cells, once, in the first test: later tests' cells run
    meanwhile."""
    for number, cells in planned:
        runs[number] = [pool.submit(cell.run) for cell in cells]
    planned.clear()


def one_step(_bench, number, at, reached):
    assert at in reached, (
        f"no scenario comes to {at}: give it a line in REACHED "
        "(tests/fault/scenarios.py, deliveries.py)")
    start_all()
    errors = [run.exception() for run in runs[number]]
    if os.environ.get("ONCE_TIMES"):
        for run in runs[number]:
            tap.comment(run.exception() is None and run.result())
    troubles = [str(error) for error in errors if error]
    assert not troubles, "\n".join(
        [f"{len(troubles)} of {len(errors)} cells", *troubles])


def plan(words, at, reached, cells):
    """Marks a test of these cells of a step."""
    number = len(tap.tests)
    tap.tests.append((words, one_step, (number, at, reached)))
    if wanted(words):
        planned.append((number, cells))


def reachable(machines, reached):
    """The steps of these machines, but for those of which reached says that no
    scenario can show them."""
    return [at for at in steps(*machines) if at not in reached or reached[at]]


def torture(title, *faults, machines=("request", "execution"),
            reached=REACHED, cell=Cell):
    """Marks a test for each step, in which each of these faults, variants of
    one, strikes in all scenarios that come there."""
    for at in reachable(machines, reached):
        plan(f"{title} at {at}", at, reached,
             [cell(at, scenario, fault)
              for scenario in reached.get(at, ()) for fault in faults])


def torture_once(faults, machines=("request", "execution"), reached=REACHED,
                 cell=Cell):
    """The same with one fault of these, by their titles, and one scenario,
    which the commit draws."""
    for at in reachable(machines, reached):
        title = tier.draw(f"fault at {at}", sorted(faults))
        scenarios = reached.get(at, ())
        plan(f"{title} at {at}", at, reached,
             [cell(at, tier.draw(f"scenario at {at}", scenarios),
                   faults[title])] if scenarios else [])


def skip(title, why):
    """In place of torture(), where that is impossible."""
    def nothing(_bench):
        raise tap.Skip(why)
    tap.tests.append((title, nothing, ()))


def main():
    tap.main()
