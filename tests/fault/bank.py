# SPDX-License-Identifier: BSD-2-Clause
"""An upstream that makes payments and keeps a ledger of them: whatever it was
told to do to the connection, it tells the truth when asked later."""

import json
import time

from once.upstream import DATE, Hold, Upstream, answer

BY_KEY = "/by-key/{key}"


class Entry:
    """A request for a payment that arrived."""

    def __init__(self, request, move):
        self.move = move
        self.at = time.monotonic()
        self.attempt = request.get("Idempotency-Attempt")
        self.key = request.get("Idempotency-Key")
        self.number = None  # of the payment; None: it was not made
        self.whole = False  # its answer left without an accident

    def __repr__(self):
        return (f"<attempt {self.attempt}: {self.move}, payment "
                f"{self.number}, {'answered' if self.whole else 'cut'}>")


class Bank(Upstream):
    """moves: what it does with the next requests, one each; then it pays.

    pay   makes the payment and answers 201
    lose  makes it, and closes without an answer
    mute  makes it, and never answers
    drop  closes without having made it
    refuse  makes a record of it, and answers 402
    deny  makes it, and answers 503 all the same
    busy  answers 503 without having made it
    hold  makes it, and answers, or as held_move says, after release()

    busy: keys whose requests are answered 503, whatever the next move is.
    accident: what becomes of every answer: None, "close", "reset" or a number
    of bytes after which it is cut.  shy: questions are answered 500.
    on_question: what happens before one is answered.  padding: bytes that each
    receipt has besides.  pause: a Hold at which every request waits, or None.
    ledger: where it commits each payment with its witness, or None; it answers
    500 where that is refused (once/ledger.py).
    """

    def __init__(self):
        self.moves = []
        self.busy = set()
        self.entries = []
        self.accident = None
        self.shy = False
        self.on_question = lambda connection: None
        self.held = Hold()
        self.held_move = "pay"  # what becomes of what was held
        self.padding = 0
        self.pause = None
        self.ledger = None
        super().__init__(self._meet)

    def release(self):
        self.held.release()

    @property
    def paid(self):
        return [e for e in self.entries if e.number is not None]

    def cut_all(self):
        """Resets what is connected."""
        for connection in self.open_connections():
            connection.reset()

    def _meet(self, connection, request):
        if self.pause:
            self.pause.wait()
        if request.target.startswith("/v1/charges"):
            self._charge(connection, request)
        elif request.target.startswith("/by-key/"):
            self._question(connection)
        else:
            self._say(connection, answer(200, b"passed"))

    def _charge(self, connection, request):
        with self.changed:
            if request.get("Idempotency-Key") in self.busy:
                move = "busy"
            else:
                move = self.moves.pop(0) if self.moves else "pay"
            entry = Entry(request, move)
            if move not in ("drop", "busy"):
                number = len(self.paid) + 1
                if self.commits(request, number):
                    entry.number = number
                else:
                    entry.move = move = "fail"
            self.entries.append(entry)
            self.changed.notify_all()
        getattr(self, "_" + move)(connection, entry)

    def commits(self, request, number):
        if self.ledger is None:
            return True
        self.ledger.columns = {
            "status": 201, "body": body_of(number, self.padding),
            "headers": [["Date", DATE], ["X-Charge", str(number)]]}
        return self.ledger.commit(request)

    def _fail(self, connection, entry):
        self._say(connection, answer(500, b"refused"))

    def _deny(self, connection, entry):
        self._say(connection, answer(503, b"denied"))

    def _pay(self, connection, entry):
        entry.whole = self._say(
            connection, receipt(entry.number, padding=self.padding))

    def _lose(self, connection, entry):
        connection.close()

    _drop = _lose

    def _mute(self, connection, entry):
        connection.reader.more()
        connection.close()

    def _refuse(self, connection, entry):
        entry.whole = self._say(connection, receipt(entry.number, 402))

    def _busy(self, connection, entry):
        self._say(connection, answer(503, b"busy"))

    def _hold(self, connection, entry):
        self.held.wait()
        getattr(self, "_" + self.held_move)(connection, entry)

    def _question(self, connection):
        self.on_question(connection)
        if self.shy:
            self._say(connection, answer(500, b"ask me later"))
        elif self.paid:
            self._say(connection, receipt(
                self.paid[0].number, 200, self.padding))
        else:
            self._say(connection, answer(
                404, b"never heard of it",
                [("Connection", "close")] if connection.done else []))

    def _say(self, connection, data):
        """True where the kernel took all of it, and nothing more followed."""
        accident = self.accident
        if accident is None:
            connection.send(data)
            return True
        if accident == "reset":
            connection.reset()
            return False
        if accident != "close":
            connection.send(data[:accident])
        connection.close()
        return False


def receipt(number, status=201, padding=0):
    """Every payment has an answer of its own."""
    return answer(status, body_of(number, padding),
                  [("X-Charge", str(number))])


def body_of(number, padding=0):
    body = json.dumps({"id": f"ch_{number}", "amount": 1000}).encode()
    return body + b" " * padding
