# SPDX-License-Identifier: BSD-2-Clause
"""Ways to reach each step of the two machines.

A scenario prepares the key with a gateway of its own, then provokes the step
on the gateway that is to stop there (cell.gateway), which has seen nothing
before.  heal() undoes what the scenario itself did to the world.  REACHED says
which scenarios reach which step.  A new line of tbl/steps.h needs a line
there, and the whole matrix runs over it.  `make check` runs only the first one
where a fault's torture is brief."""

import itertools
import resource
import threading

from once.bench import shared
from once.ledger import Ledger
from once.pgwire import PostgresClient
from once.postgres import Postgres
from once.tokens import Issuer, Key
from once.wait import eventually

from bank import BY_KEY

RECONCILE = {"on_unknown": {"reconcile": {"path": BY_KEY, "settle": "0s"}}}
RETRY = {"on_unknown": "retry"}


def limit_files(gateway, soft):
    """How large the gateway's files may become: 0 is a full disk."""
    resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE,
                     (soft, resource.RLIM_INFINITY))


class Scenario:
    """A first payment, and all goes well."""

    policy = "hold"
    keyed = True  # false: pass-through, where nothing is promised
    idempotency = {}
    options = {}  # of the upstream
    moves = ()  # of the bank, for the request that is to stop
    before = None  # the bank's move for an attempt that is unknown already

    def prepare(self, cell):
        if self.before is None:
            return
        helper = cell.serve_another()
        cell.bank.moves = [self.before]
        got = cell.pay(helper).result()
        assert got.problem == "outcome-unknown", got
        helper.kill()

    def provoke(self, cell):
        cell.bank.moves = list(self.moves)
        cell.pay(cell.gateway)

    def heal(self, cell):
        pass


class FirstTime(Scenario):
    pass


class Derived(Scenario):
    """A client that sends no key."""

    idempotency = {"derive_key": "body"}


class Waited(Scenario):
    """A retry that waits for the first."""

    idempotency = {"in_flight": "wait"}

    def provoke(self, cell):
        cell.bank.moves = ["hold"]
        cell.pay(cell.gateway)
        cell.bank.held.wait_arrived()
        cell.pay(cell.gateway)
        cell.gateway.wait_for_steps("WAITED", 1)
        cell.bank.release()


class Verified(Scenario):
    """The keys that verify its token come later than it does."""

    def prepare(self, cell):
        key = Key(cell.bench.folder(), "HS256", "one")
        issuer = Issuer(key)
        cell.bench.upstreams.append(issuer)
        cell.tenant = "Bearer " + key.token({"sub": "shop"})
        cell.config["routes"][0]["idempotency"]["scope"] = [
            {"jwt": "sub", "keys": issuer.keys_url}]
        self.keys = issuer.hold()

    def provoke(self, cell):
        cell.pay(cell.gateway)
        cell.gateway.wait_for_steps("VERIFIED", 1)
        self.keys.release()


class Passed(Scenario):
    keyed = False

    def provoke(self, cell):
        cell.pass_by(cell.gateway)


class LookedUp(Scenario):
    """Somebody asks what became of the payment, before it is made."""

    def provoke(self, cell):
        cell.look(cell.gateway)


class LookedUpLater(LookedUp):
    """The same once it is made."""

    def prepare(self, cell):
        helper = cell.serve_another()
        cell.pay(helper).result()
        helper.kill()


class Busy(Scenario):
    """The upstream says that it executed nothing."""

    moves = ["busy"]


class Lost(Scenario):
    """It is executed, and the connection closes without an answer."""

    moves = ["lose"]


class Mute(Scenario):
    """It is executed, and no answer comes in time."""

    moves = ["mute"]
    options = {"timeout": "1s"}


class Unreachable(Scenario):
    """Nobody listens where the upstream was."""

    def prepare(self, cell):
        super().prepare(cell)
        shut(cell)

    def heal(self, cell):
        cell.door.accept()


def shut(cell):
    cell.door.refuse()
    cell.door.reset_all()


class PutOff(Scenario):
    """Redis is gone when the answer comes: the journal takes it."""

    def provoke(self, cell):
        cell.bank.moves = ["hold"]
        cell.pay(cell.gateway)
        cell.bank.held.wait_arrived()
        self.lose(cell)
        cell.bank.release()

    def lose(self, cell):
        cell.redis.kill()

    def heal(self, cell):
        cell.revive_redis()


class Paused(PutOff):
    """An outcome that neither Redis nor the journal takes."""

    def lose(self, cell):
        super().lose(cell)
        limit_files(cell.gateway, 0)

    def heal(self, cell):
        if cell.gateway.running():
            limit_files(cell.gateway, resource.RLIM_INFINITY)
        cell.revive_redis()


class Retried(Scenario):
    """One more attempt, after one whose outcome is unknown."""

    policy, idempotency, before = "retry", RETRY, "lose"


class NotHappened(Scenario):
    """The upstream is asked, and the attempt did not happen: it is
    executed."""

    policy, idempotency, before = "reconcile", RECONCILE, "drop"


class Happened(NotHappened):
    """The upstream is asked, and the attempt happened."""

    before = "lose"


class Unclear(Happened):
    """The upstream is asked, and does not know."""

    def provoke(self, cell):
        cell.bank.shy = True
        super().provoke(cell)

    def heal(self, cell):
        cell.bank.shy = False


class Vanished(NotHappened):
    """The upstream is gone after it was asked."""

    def provoke(self, cell):
        def leave(connection):
            cell.door.refuse()
            connection.done = True
        cell.bank.on_question = leave
        super().provoke(cell)

    def heal(self, cell):
        cell.bank.on_question = lambda connection: None
        cell.door.accept()


one_at_a_time = threading.Lock()
ledgers = itertools.count()


def one_for_all(name, make):
    with one_at_a_time:
        if name not in shared:
            shared[name] = make()
        return shared[name]


def database_of_all():
    return one_for_all("postgres", Postgres)


def database_like_all():
    """A PostgreSQL of a cell's own."""
    def make():
        template = Postgres()
        template.kill()
        return template
    return Postgres(like=one_for_all("template", make))


class Witnessed(Scenario):
    """The sweep asks the API's database at once, and it was executed."""

    policy, moves = "reconcile", ["lose"]

    def prepare(self, cell):
        ledger = cell.bank.ledger = Ledger(
            cell.database or database_of_all(), name=f"l{next(ledgers)}")
        cell.config.setdefault("brokers", {})["ledger"] = {
            "postgres": (cell.pooler or ledger.postgres).url}
        cell.config["routes"][0]["idempotency"]["on_unknown"] = ledger.policy()
        helper = cell.serve_another()
        eventually(lambda: [
            key for key in cell.redis.keys() if b":trust:" in key and
            cell.redis("GET", key).split(b"\n")[4] != b"0"],
            "the witness is known to be enforced")
        helper.kill()


class Revoked(Witnessed):
    """The same, and it was not: it is sent again."""

    moves = ["drop"]


class Denied(Witnessed):
    """It is executed, and whoever stands before the API says no."""

    moves = ["deny"]


class Refused(Witnessed):
    """It is not executed, and the API says so."""

    moves = ["busy"]


class Locked(Refused):
    """The same, and nobody gets the row for a while."""

    def provoke(self, cell):
        ledger = cell.bank.ledger
        self.client = PostgresClient(ledger.postgres.folder)
        self.client("BEGIN")
        self.client(f"LOCK TABLE {ledger.name}_witness IN SHARE MODE")
        super().provoke(cell)

    def heal(self, cell):
        self.client.close()


class WitnessedPutOff(Witnessed, PutOff):
    """Redis is gone when the answer comes, to which the row bears witness."""


def and_so(scenario):
    """A scenario, and the same where an earlier attempt is unknown."""
    return [scenario] + [
        type(policy.__name__ + scenario.__name__, (policy, scenario), {})
        for policy in (Retried, NotHappened)]


FIRST = [FirstTime]
TOLD = [FirstTime, PutOff]
RECONCILED = [Happened, NotHappened]
SENT = [FirstTime, Retried, NotHappened]
STORED = [*SENT, Happened]
ENDED = [*STORED, *and_so(PutOff)]
RELEASED = [*and_so(Unreachable)[:2], *and_so(Busy), Vanished]
DOUBTED = [*and_so(Lost), Mute, Unclear]
PAUSED = and_so(Paused)

REACHED = {
    "request:CHECK": FIRST,
    "request:ROUTE": FIRST,
    "request:FIND": [LookedUp],
    "request:LOOK_UP": [LookedUp, LookedUpLater],
    "request:LOOKED_UP": [LookedUpLater, LookedUp],
    "request:KEY": FIRST,
    "request:BODY": FIRST,
    "request:RECEIVED": FIRST,
    "request:VERIFIED": [Verified],
    "request:DERIVE": [Derived, FirstTime],
    "request:CLAIM": FIRST,
    "request:CLAIMED": FIRST,
    "request:WAITED": [Waited],
    "request:START": FIRST,
    "request:JOINED": TOLD,
    "request:PASS": [Passed],
    "request:PASSED": [Passed],
    "request:ANSWER": TOLD,
    "request:ANSWERED": TOLD,
    "request:FINISH": TOLD,
    "execution:RECONCILE": [*RECONCILED, Witnessed, Revoked],
    "execution:RECONCILED": RECONCILED,
    "execution:RECLAIM": [NotHappened, Revoked],
    "execution:RECLAIMED": [NotHappened, Revoked],
    "execution:FORWARD": SENT,
    "execution:FORWARDED": SENT,
    "execution:LOOK_UP": [Revoked, Witnessed, Denied, Refused],
    "execution:LOOKED_UP": [Revoked, Witnessed, Denied, Refused],
    "execution:COMPLETE": [*STORED, Witnessed],
    "execution:COMPLETED": [*ENDED, Witnessed, Denied, WitnessedPutOff],
    "execution:RELEASE": [*RELEASED, Refused],
    "execution:RELEASED": [*RELEASED, Refused],
    "execution:MARK_UNKNOWN": [*DOUBTED, Witnessed, Locked],
    "execution:MARKED_UNKNOWN": [*DOUBTED, Witnessed, Locked],
    "execution:JOURNAL": [*and_so(PutOff), WitnessedPutOff],
    "execution:JOURNALED": [*and_so(PutOff), WitnessedPutOff],
    "execution:PAUSE": PAUSED,
    "execution:PAUSED": PAUSED,
    "execution:FINISH": [*ENDED, Witnessed],
}

# Those in which the API's database is asked.
WITNESSED = {
    step: [one for one in scenarios if issubclass(one, Witnessed)]
    for step, scenarios in REACHED.items()}
