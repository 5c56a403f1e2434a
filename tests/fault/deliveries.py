# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix in which a gateway stops at a step of a delivery: the
payment is a message of a stream, which a Redis of its own has.

A scenario makes the delivery come to the step; REACHED says which does.  A new
DELIVERY_STEP of tbl/steps.h needs a line there.  In the end each message is
acknowledged, with its record COMPLETED or as a dead letter, or it is held."""

import base64
import json

from once.admin import Admin
from once.gateway import is_without
from once.messages import Stream, as_text, source
from once.postgres import Outbox, outbox_source, programs
from once.wait import Late, eventually

from faults import Fault
from matrix import AMOUNT, DURABLE, Cell, torture
from scenarios import Scenario, shut

ATTEMPTS = 5
NOTICE_S = 1  # for a fault to be noticed
MEETINGS = ("source_stands", "message_held", "message")
END_S = 45  # for messages to end: a turn of 5 s, probes of up to 4 s


class Message(Scenario):
    """One message, and all goes well."""

    members = {}  # of the source
    table = False  # it is a row of a table
    forgets = False  # its record is gone

    def provoke(self, cell):
        cell.bank.moves = list(self.moves)
        cell.add(0)


class InOrder(Message):
    members = {"order_by": ["/order"]}
    move = "pay"

    def provoke(self, cell):
        cell.bank.moves = ["hold"]
        cell.bank.held_move = self.move
        cell.add(0)
        cell.bank.held.wait_arrived()
        cell.add(1)
        cell.gateway.wait_for_steps("TURNED", 1)
        cell.bank.release()


class Refused(Message):
    """The upstream refuses it: a dead letter."""

    moves = ["refuse"]


class Parked(InOrder):
    """The first of an order is a dead letter, the second follows it."""

    move = "refuse"


class Locked(Message):
    """Somebody has locked its row."""

    table = True

    def prepare(self, cell):
        cell.add(0)
        cell.broker.begin("SELECT 1 FROM outbox FOR UPDATE")

    def provoke(self, cell):
        pass

    def heal(self, cell):
        cell.broker.end()


class Released(Message):
    moves = ["busy"]


class Held(Message):
    """Nobody knows the outcome."""

    moves = ["lose"]


class Forgotten(Message):
    """It was held, and whoever held it is gone, as is its record.  Its source
    is paused until the next gateway is ready."""

    moves = ["lose"]
    forgets = True

    def prepare(self, cell):
        helper = cell.serve_another()
        super().provoke(cell)
        helper.wait_for_steps("HEARD", 1)
        paused = Admin(helper).post("/sources/charges/pause").status
        assert paused == 200, paused
        helper.stop()
        cell.forget_records()

    def provoke(self, cell):
        cell.bench.background(
            Admin(cell.gateway).post, "/sources/charges/resume")


class Fetched(Message):
    """It rests for so long that its bytes are given back, and read again."""

    members = {"retry": {"first": "4s", "most": "4s"}}
    moves = ["busy"]


class Unsent(Message):
    """Nobody listens where the upstream was."""

    def prepare(self, cell):
        shut(cell)

    def heal(self, cell):
        cell.door.accept()


class Standing(Message):
    """Results cannot be put, so the source stands still, and one message tries
    it again after a while."""

    members = {"results": {"stream": "no-stream"}}

    def prepare(self, cell):
        cell.broker("SET", "no-stream", "")

    def heal(self, cell):
        cell.broker("DEL", "no-stream")


class Elsewhere(Message):
    """A client's request with the same key is under way."""

    def provoke(self, cell):
        cell.bank.moves = ["hold"]
        cell.pay(cell.gateway)
        cell.bank.held.wait_arrived()
        cell.add(0)

    def heal(self, cell):
        cell.bank.release()


class Heard(Elsewhere):
    def provoke(self, cell):
        super().provoke(cell)
        cell.gateway.wait_for_steps("HEARD", 1)
        cell.bank.release()


class NotStored(Message):
    """The store is gone when the answer comes."""

    def provoke(self, cell):
        cell.bank.moves = ["hold"]
        cell.add(0)
        cell.bank.held.wait_arrived()
        cell.redis.kill()
        cell.bank.release()

    def heal(self, cell):
        cell.revive_redis()


class Replayed(Message):
    """The first of an order is a dead letter whose attempts are used up, and an
    operator has it executed again."""

    members = {"order_by": ["/order"]}
    reason = "exhausted"

    def prepare(self, cell):
        helper = cell.serve_another()
        cell.bank.moves = ["busy"] * ATTEMPTS
        self.position = cell.add(0)
        helper.wait_for_log("message", reason="exhausted")
        helper.kill()

    def provoke(self, cell):
        cell.bench.background(self.act, Admin(cell.gateway), "replay", 202)

    def act(self, admin, act, status):
        """Until the gateway has its turn, and does it."""
        name = base64.urlsafe_b64encode(b"charges\0" + self.position)
        path = f"/messages/{name.decode().rstrip('=')}/{act}"
        eventually(lambda: admin.post(path).status == status,
                   f"the gateway does it: {act}")


class Dropped(Replayed):
    """An operator has it dropped."""

    members = {}

    def provoke(self, cell):
        cell.bench.background(self.act, Admin(cell.gateway), "drop", 200)


class Confirmed(Replayed):
    """It is tried again, as its upstream was busy once more."""

    members = {}

    def provoke(self, cell):
        cell.bank.moves = ["busy"]
        super().provoke(cell)


class Skipped(Replayed):
    """One behind it followed the first, whose dead letter somebody deleted; it
    is replayed."""

    reason = "behind"

    def prepare(self, cell):
        helper = cell.serve_another()
        cell.bank.moves = ["busy"] * ATTEMPTS
        cell.add(0)
        helper.wait_for_log("message", reason="exhausted")
        self.position = cell.add(1)
        helper.wait_for_log("message", reason="behind")
        helper.kill()
        cell.delete_first_letter()
        cell.added -= 1  # it is nowhere any more


SCENARIOS = {
    Message: ("SHAPE", "TURN", "STAND", "CLAIM", "CLAIMED", "START", "JOINED",
              "FINISH", "FINISHED", "END"),
    InOrder: ("TURNED",), Parked: (
        "SEEK", "SOUGHT", "FOLLOW", "FOLLOWED", "PARKED"),
    Standing: ("STOOD",), Elsewhere: ("WAIT",), Heard: ("HEARD",),
    Held: ("HOLD", "NOTE", "NOTED", "KEEP", "PEEK", "PEEKED"),
    Forgotten: ("RECALL", "RECALLED", "MISS"), Unsent: ("UNSENT",),
    NotStored: ("LOOK",),
    Released: ("BACK_OFF", "RESTED"),
    Replayed: ("RELEASE", "RELEASED", "DECIDE", "DECIDED"),
    Skipped: ("PROVE", "PROVED", "SKIP", "SKIPPED"),
    Dropped: ("CHECK", "CHECKED"), Confirmed: ("CONFIRM", "CONFIRMED"),
    Refused: ("REFUSE", "BURY", "PARK"),
    Fetched: ("FETCH", "FETCHED"),
    Locked: ("YIELD", "YIELDED")}
OUT_OF_REACH = programs() is None or is_without("postgres")
REACHED = {
    f"delivery:{step}": [] if scenario.table and OUT_OF_REACH else [scenario]
    for scenario, some in SCENARIOS.items() for step in some}


class MessageCell(Cell):
    def _build(self):
        super()._build()
        self.config["admin"] = {"listen": "127.0.0.1:0"}
        self.added = 0
        if self.scenario.table:
            self._read_table()
        else:
            self._read_stream()

    def _read_table(self):
        self.broker = self.bench.postgres()
        self.table = Outbox(self.broker)
        outbox_source(self.config, self.table, results={"table": "done"})

    def _read_stream(self):
        self.broker = self.bench.own_redis(*DURABLE)
        self.stream = Stream(self.broker)
        # The broker's timeout is the store's.
        source(self.config, self.stream, **{
            "results": {"stream": "done"}, "retry": {
                "first": "100ms", "most": "200ms", "attempts": ATTEMPTS},
            **self.scenario.members})
        self.results = self.config["sources"]["charges"]["results"]["stream"]

    def add(self, number):
        """The first has the key of the client's payments; its position."""
        self.added += 1
        key = "k" if number == 0 else f"k{number}"
        if self.scenario.table:
            return self.table.add(
                json.loads(AMOUNT), headers={"Idempotency-Key": key})
        return self.stream.add(body=AMOUNT, idempotency_key=key)

    def delete_first_letter(self):
        first = self.broker("XRANGE", "charges:dead", "-", "+")[0][0]
        self.broker("XDEL", "charges:dead", first)

    def collect(self):
        """Before the world is healed only waits until the gateway has met the
        fault, if it does: a client's request may have to wait for that."""
        if self.healed_at is not None:
            super().collect()
        elif self.gateway.running():
            try:
                self.gateway.wait_until(self.has_met_it, timeout=NOTICE_S)
            except Late:
                pass

    def has_met_it(self):
        stopped = next(i for i, e in enumerate(self.gateway.events)
                       if e.get("event") == "fault_point")
        return any(e.get("event") in MEETINGS
                   for e in self.gateway.events[stopped:])

    def settle(self, gateway, in_doubt=False):
        if gateway is self.gateway:
            eventually(self.is_through, "each message has ended", END_S)

    def is_through(self):
        self.left = self.pending()
        return self.left is not None and len(self.left) == len(
            self.held())

    def pending(self):
        if self.scenario.table:
            return self.table.unread()
        groups = self.broker("XINFO", "GROUPS", self.stream.name) if \
            self.broker("EXISTS", self.stream.name) else []
        return self.stream.pending() if groups else None

    def held(self):
        """Those that wait for an operator, or behind one that does."""
        states = self.states()
        if self.scenario.forgets and not states:
            return self.left if self.is_missed() else []
        if "U" not in states:
            return []
        return self.left if "P" not in states else []

    def is_missed(self):
        return any(gateway.find_log("message_record_gone")
                   for gateway in [self.gateway, *self.others])

    def forget_records(self):
        for name in self.redis.keys():
            if b":r:" in name:
                self.redis("DEL", name)

    def states(self):
        return [self.redis("GETRANGE", name, 2, 2).decode()
                for name in self.redis.keys() if b":r:" in name]

    def ends(self):
        """Results and dead letters, of one moment: a replay takes one away and
        puts the other."""
        if self.scenario.table:
            return [self._put_into(name) for name in ("done", "outbox_dead")]
        while True:
            dead = self.stream.entries(f"{self.stream.name}:dead")
            results = self.stream.entries(self.results)
            if dead == self.stream.entries(f"{self.stream.name}:dead"):
                return results, dead

    def _put_into(self, table):
        found = self.broker.rows(
            f"SELECT to_regclass('{table}') IS NOT NULL AS there")
        rows = self.broker.rows(f"SELECT headers FROM {table}") if \
            found[0]["there"] else []
        return [{name: value.encode() for name, value
                 in row["headers"].items()} for row in rows]

    def still_ends(self):
        """The ends, where they and what is left are of one moment: what was
        held may end when a journal is delivered.  Else None."""
        ends, left = self.ends(), self.left
        through = self.is_through()
        return ends if through and left == self.left and \
            ends == self.ends() else None

    def check(self):
        """The promise."""
        if not self.fault.kills:
            assert self.gateway.running(), "the gateway has ended"
        sent = [e for e in self.bank.entries if e.move != "busy"]
        most = len({e.key for e in sent})
        assert len(sent) == most, f"sent {len(sent)} times"
        results, dead = eventually(self.still_ends, "nothing moves", END_S)
        ends = [as_text(e["onceproxy-position"]) for e in results + dead]
        assert len(ends) == len(set(ends)), f"ended twice: {ends}"
        equal = self.added - len(self.left)
        may_be_gone = isinstance(self.scenario, Dropped) and not ends
        assert may_be_gone or len(ends) == equal, f"{len(ends)} of {equal}"
        doubted = self.scenario.moves == ["lose"] or \
            self.fault.kills or self.fault.breaks_answers
        assert doubted or not self.left, f"held: {self.left}"
        reasons = {as_text(e["onceproxy-reason"]) for e in dead}
        allowed = {"refused", "behind"}
        if isinstance(self.scenario, Replayed):
            allowed = {self.scenario.reason}  # it stays as it was
        assert reasons <= allowed, reasons
        done = sum(s == "C" for s in self.states())
        assert len(ends) <= done + sum(
            as_text(e["onceproxy-reason"]) != "refused" for e in dead), (
            f"{ends} acknowledged, {done} records COMPLETED")


class BrokerKilled(Fault):
    def strike(self, cell):
        cell.broker.kill()

    def heal(self, cell):
        cell.broker.start()


class BrokerFrozen(Fault):
    store_timeout = "1500ms"

    def strike(self, cell):
        cell.broker.freeze()

    def heal(self, cell):
        cell.broker.thaw()


def torture_deliveries(title, *faults):
    torture(title, *faults, machines=("delivery",), reached=REACHED,
            cell=MessageCell)
