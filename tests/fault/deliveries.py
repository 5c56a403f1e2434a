# SPDX-License-Identifier: BSD-2-Clause
"""Cells of the matrix in which a gateway stops at a step of a delivery, or of
a letter that is replayed: the payment is a message of a stream, which a Redis
of its own has.

A scenario makes the machine come to the step; REACHED says which does.  A new
DELIVERY_STEP of tbl/steps.h needs a line there.  In the end each
message is acknowledged, with its record COMPLETED or as a letter in the store,
or it is held."""

import json
import time

from once.admin import Admin
from once.gateway import is_without
from once.messages import Stream, as_text, id_of, pairs, source
from once.postgres import Outbox, outbox_source, programs
from once.wait import Late, eventually

from faults import NOTICE_S, Fault
from matrix import AMOUNT, DURABLE, Cell, torture
from scenarios import Scenario, Witnessed, shut

ATTEMPTS = 5
MEETINGS = ("source_stands", "message_held", "message")


def pause_source(admin, act):
    """Or "resume"."""
    got = admin.post(f"/sources/charges/{act}")
    assert got.status == 200, got.body


class Message(Scenario):
    """One message, and all goes well."""

    members = {}  # of the source
    reasons = {"refused", "behind"}  # of the letters that may be left
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
        cell.bank.held.wait_arrived(cell.end_s)
        cell.add(1)
        cell.gateway.wait_for_steps("TURNED", 1, cell.end_s)
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


class Asked(Witnessed, Message):
    """Nobody knows the outcome but its witness, which is asked."""


class Forgotten(Message):
    """While it is held, its record is lost."""

    moves = ["lose"]
    forgets = True

    def provoke(self, cell):
        super().provoke(cell)
        cell.gateway.wait_for_log("message_held")
        cell.forget_records()
        cell.redis("CLIENT", "KILL", "TYPE", "pubsub")


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


class NotStored(Message):
    """The store is gone when the answer comes."""

    def provoke(self, cell):
        cell.bank.moves = ["hold"]
        cell.add(0)
        # It looks before it is sent, too, where a reader has just begun: which
        # store it has is asked.
        cell.gateway.wait_until(
            lambda: cell.bank.held.arrived.is_set() or
            cell.gateway.find_log("fault_point"), "it is sent, or stops")
        cell.redis.kill()
        cell.bank.release()

    def heal(self, cell):
        cell.revive_redis()


class Written(Message):
    """Its letter is written, and nobody could acknowledge it yet."""

    moves = ["refuse"]

    def prepare(self, cell):
        helper = cell.serve_another()
        cell.put_nowhere()
        super().provoke(cell)
        helper.wait_for_log("source_stands", reason="dead-letters")
        helper.kill()
        cell.put_again()

    def provoke(self, cell):
        pass


class Replayed(Message):
    """A letter whose attempts are used up: an operator has it executed."""

    members = {"retry": {"first": "100ms", "most": "200ms", "attempts": 1}}
    reasons = {"exhausted", "refused"}
    moves = ()  # when it is replayed

    def prepare(self, cell):
        helper = cell.serve_another()
        cell.bank.busy.add("k")
        self.position = cell.add(0)

        def is_exhausted():
            # Its attempt counts where another one is executed meanwhile.
            cell.add(cell.added)
            helper.wait_until(lambda: len(helper.find_log(
                "message", outcome="executed")) >= cell.added - 1, "another")
            return helper.find_log("message", reason="exhausted")
        eventually(is_exhausted, "its attempts are used up")
        eventually(cell.is_through, "its letter is confirmed")
        helper.kill()
        cell.bank.busy.clear()

    def provoke(self, cell):
        cell.bank.moves = list(self.moves)
        cell.bench.background(self.act, Admin(cell.gateway), "replay", 202)

    def act(self, admin, act, status):
        """Until the gateway has its turn, and does it."""
        path = f"/messages/{id_of(self.position)}/{act}"
        eventually(lambda: admin.post(path).status == status,
                   f"the gateway does it: {act}")


class Dropped(Replayed):
    """An operator has it dropped."""

    def provoke(self, cell):
        cell.bench.background(self.act, Admin(cell.gateway), "drop", 200)


class RefusedAgain(Replayed):
    """It is tried again, and refused."""

    moves = ["refuse"]


class BusyAgain(Replayed):
    """It is tried again, as its upstream was busy once more."""

    moves = ["busy"]


class UnsentAgain(Replayed):
    """Nobody listens where the upstream was."""

    def provoke(self, cell):
        shut(cell)
        super().provoke(cell)

    def heal(self, cell):
        cell.door.accept()


class Returned(InOrder, Replayed):
    """The first of an order was refused, and is replayed once its key is
    deleted; the one behind it follows."""

    members = InOrder.members
    reasons = {"refused", "behind"}

    def prepare(self, cell):
        helper = cell.serve_another()
        cell.bank.moves = ["refuse"]
        self.position = cell.add(0)
        helper.wait_for_log("message", reason="refused")
        cell.add(1)
        helper.wait_for_log("message", reason="behind")
        eventually(cell.is_through, "the letters are confirmed")
        helper.kill()
        cell.bank.entries.clear()
        cell.forget_records()

    def provoke(self, cell):
        Replayed.provoke(self, cell)


class AskedElsewhere(Returned):
    """A client's request with the same key is under way, which began when the
    replay had, in a pause."""

    def provoke(self, cell):
        cell.bank.moves = ["hold"]
        admin = Admin(cell.gateway)
        pause_source(admin, "pause")
        self.act(admin, "replay", 202)
        cell.gateway.wait_for_steps("STAND", 1)
        cell.pay(cell.gateway)
        cell.bank.held.wait_arrived()
        cell.bench.background(pause_source, admin, "resume")

    def heal(self, cell):
        cell.bank.release()


class Unconfirmed(Message):
    """Whoever had its letter acknowledged died before it could say so."""

    moves = ["refuse"]

    def prepare(self, cell):
        helper = cell.serve_another()
        super().provoke(cell)
        helper.wait_for_log("message", reason="refused")
        eventually(cell.is_through, "its letter is confirmed")
        helper.kill()
        cell.unconfirm_letters()

    def provoke(self, cell):
        pass


SCENARIOS = {
    Message: ("SHAPE", "TURN", "STAND", "CLAIM", "CLAIMED", "EXECUTE",
              "EXECUTED", "FINISH", "FINISHED", "END"),
    InOrder: ("TURNED",), Written: ("SEEK", "SOUGHT"),
    Standing: ("RESTED",), Elsewhere: ("WAIT",), Held: ("HOLD",),
    Asked: ("EXECUTED", "BACK_OFF", "RESTED"),
    Forgotten: ("MISS",), Unsent: ("UNSENT",), NotStored: ("LOOK",),
    Released: ("BACK_OFF",),
    Refused: ("REFUSE",), Parked: ("BURY", "BURIED", "CONFIRM", "CONFIRMED"),
    Locked: ("YIELD",)}
# Of letters.
REPLAYS = {
    Replayed: ("CLAIM", "CLAIMED", "RELEASE", "RELEASED", "LOOK", "RESTED"),
    Returned: ("BEGIN", "BEGUN", "SHAPE", "STAND", "EXECUTE", "EXECUTED",
               "FINISH", "FINISHED", "CLOSE", "CLOSED", "END"),
    Dropped: ("BEGIN", "BEGUN", "FINISH", "FINISHED", "CLOSE", "CLOSED"),
    RefusedAgain: ("REFUSE", "STAY", "STAYED"),
    BusyAgain: ("BACK_OFF",), UnsentAgain: ("UNSENT",),
    AskedElsewhere: ("WAIT",),
    Unconfirmed: ("FINISH", "FINISHED", "CONFIRM", "CONFIRMED")}
OUT_OF_REACH = programs() is None or is_without("postgres")
REACHED = {}
for scenario, some in [*SCENARIOS.items(), *REPLAYS.items()]:
    for step in some:
        reached = REACHED.setdefault(f"delivery:{step}", [])
        if not OUT_OF_REACH or not (
                scenario.table or issubclass(scenario, Witnessed)):
            reached.append(scenario)
MACHINES = "delivery",


class MessageCell(Cell):
    end_s = 60  # for messages to end: a begun letter is free after 15 s

    def _build(self):
        super()._build()
        self.config["admin"] = {"listen": "127.0.0.1:0"}
        self.added = 0
        self.table = None
        self._read()

    def _read(self):
        if self.scenario.table:
            self._read_table()
        else:
            self._read_stream()

    def _read_table(self):
        self.broker = self.bench.postgres()
        self.table = Outbox(self.broker)
        self.results, self.dead = "done", "outbox_dead"
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
        self.dead = f"{self.stream.name}:dead"

    def add(self, number):
        """The first has the key of the client's payments; its position."""
        self.added += 1
        key = "k" if number == 0 else f"k{number}"
        if self.table:
            return self.table.add(
                json.loads(AMOUNT), headers={"Idempotency-Key": key})
        return self.stream.add(body=AMOUNT, idempotency_key=key)

    def put_nowhere(self):
        """Copies of letters cannot be put, until put_again()."""
        self.broker("SET", "charges:dead", "")

    def put_again(self):
        self.broker("DEL", "charges:dead")

    def letters(self):
        """What the store has of letters, by their positions."""
        found = {}
        for name in self.redis.keys():
            if b":letter:source:" in name:
                letter = pairs(self.redis("HGETALL", name))
                if not letter:
                    continue  # it has just ended
                size, _, rest = letter["head"].partition(b"\n")[2].partition(
                    b":")
                found[as_text(rest[:int(size)])] = {
                    **letter, "name": name}
        return found

    def unconfirm_letters(self):
        """As if that had been written for a while, and nobody knew more."""
        for letter in self.letters().values():
            name, old = letter["name"], int(time.time() * 1000) - 60_000
            self.redis("HSET", name, "state", "written", "put", old)
            index = name.replace(b":letter:", b":written:")
            self.redis("ZADD", index.rpartition(b":")[0], old,
                       name.rpartition(b":")[2])

    def collect(self):
        """Before the world is healed only waits until the gateway has met the
        fault, if it does: a client's request may have to wait for that."""
        if self.healed_at is not None:
            super().collect()
        elif self.gateway.running():
            try:
                self.gateway.wait_until(lambda: self.has_said(*MEETINGS),
                                        timeout=NOTICE_S)
            except Late:
                pass

    def settle(self, gateway, in_doubt=False):
        if gateway is self.gateway:
            eventually(self.is_through, "each message has ended", self.end_s)

    def is_through(self):
        self.left = self.pending()
        return self.left is not None and len(self.left) == len(
            self.held()) and all(
            letter["state"] == b"confirmed"
            for letter in self.letters().values())

    def pending(self):
        if self.table:
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
        """The positions of results; and the reasons of letters, by theirs."""
        return [as_text(put["onceproxy-position"])
                for put in self.put_into(self.results)], {
            position: as_text(letter["reason"])
            for position, letter in self.letters().items()}

    def open_copies(self):
        """Of which the broker's place does not say that they are over."""
        found = set()
        for put in self.put_into(self.dead):
            if "onceproxy-done" in put:
                found.discard(as_text(put["onceproxy-done"]))
            else:
                found.add(as_text(put["onceproxy-position"]))
        return found

    def put_into(self, place):
        """The headers of all that is there, in its order."""
        if not self.table:
            return self.stream.entries(place)
        there, = self.broker.rows(
            f"SELECT to_regclass('{place}') IS NOT NULL AS there")
        return [row["headers"] for row in self.broker.rows(
            f"SELECT headers FROM {place}")] if there["there"] else []

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
        # That it was sent only the gateway knew that held it.
        if self.scenario.forgets and (self.fault.kills or self.fault.freezes):
            most += 1
        assert len(sent) <= most, f"sent {len(sent)} times"
        results, letters = eventually(self.still_ends, "nothing moves",
                                      self.end_s)
        ends = results + list(letters)
        assert len(ends) == len(set(ends)), f"ended twice: {ends}"
        equal = self.added - len(self.left)
        dropped = isinstance(self.scenario, Dropped) and not letters
        assert len(ends) == equal - dropped, f"{len(ends)} of {equal}"
        doubted = self.scenario.moves == ["lose"] or \
            self.fault.kills or self.fault.breaks_answers
        assert doubted or not self.left, f"held: {self.left}"
        replayed = isinstance(self.scenario, Replayed)
        # Of a replay that was frozen past its lease nobody knows.
        doubted = doubted or (replayed and self.fault.freezes)
        allowed = self.scenario.reasons | ({"unknown"} if doubted else set())
        assert set(letters.values()) <= allowed, letters
        done = sum(s == "C" for s in self.states())
        assert len(ends) <= done + sum(
            replayed or reason != "refused" for reason in letters.values()), (
            f"{ends} acknowledged, {done} records COMPLETED")
        copies = self.open_copies()
        assert copies == set(letters), f"copies {copies}, {letters}"


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
    torture(title, *faults, machines=MACHINES, reached=REACHED,
            cell=MessageCell)
