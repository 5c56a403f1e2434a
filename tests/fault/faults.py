# SPDX-License-Identifier: BSD-2-Clause
"""What happens to the world while a gateway is stopped at a step.  begin()
runs before anything else, strike() while it is stopped; then it goes on,
unless kills says that it is dead.  meanwhile() runs before the world is healed,
heal() heals it."""

import errno
import os
import signal
import subprocess
import time

from once.folder import drop_folder, make_folder
from once.http import Client, build
from once.pooler import Pooler
from once.postgres import PostgresPair
from once.upstream import Hold
from once.wait import Late, eventually

from scenarios import database_like_all, database_of_all, limit_files

SHORT, LONG = "1s", "20s"  # leases: to be waited for, and not to run out
PATIENT = "10s"  # store.timeout where it should not matter
NOTICE_S = 1  # for a fault to be noticed


class Fault:
    lease = LONG
    store_timeout = PATIENT
    kills = False  # the gateway
    freezes = False
    breaks_answers = False  # the upstream's
    proxied = False  # Redis is behind a proxy
    forgets = False  # Redis does: what it knew of the key
    options = {}  # of the upstream; a scenario's own count more
    limits = {}

    def begin(self, cell):
        """Before anything happens."""

    def strike(self, cell):
        raise NotImplementedError

    def meanwhile(self, cell):
        cell.collect()

    def heal(self, cell):
        pass

    def state_dir(self, cell):
        """The state_dir for the gateway that stops; None: any."""

    def clean(self, cell):
        pass


class GatewayKilled(Fault):
    lease = SHORT
    kills = True

    def strike(self, cell):
        cell.gateway.kill()


class GatewayFrozen(Fault):
    """Frozen for longer than the lease, while another one takes the
    retries."""

    lease = SHORT
    freezes = True

    def strike(self, cell):
        cell.heal()
        cell.others.append(cell.serve_another())
        cell.settle(cell.others[-1], in_doubt=True)


class ClockStopped(Fault):
    """Stopped at the step for longer than the upstream's time, or the lease,
    lasts; and then once more while the upstream's answer comes, so that it
    lies in the socket when the time is over."""

    def __init__(self, timeout_s=None, lease=LONG):
        self.options = {"timeout": f"{timeout_s}s"} if timeout_s else {}
        self.stopped_s = 0.5 + (timeout_s or 1)
        self.lease = lease
        self.freezes = lease == SHORT

    def strike(self, cell):
        self.pass_time()
        cell.bank.pause = Hold()
        cell.gateway.thaw()
        eventually(lambda: cell.bank.pause.arrived.is_set()
                   or all(p.is_answered() for p in cell.payments),
                   "the upstream is asked, or clients are answered")
        cell.gateway.freeze()
        cell.bank.pause.release()
        self.pass_time()

    def pass_time(self):
        until = time.monotonic() + self.stopped_s
        eventually(lambda: time.monotonic() > until)


class MemoryShort(Fault):
    """Bodies that others send take up the memory for bodies."""

    limits = {"in_flight_bytes": "64KiB"}
    PIECE_BYTES = 4000  # of each; an answer is larger
    OTHERS, REFUSED = 30, 8  # there is room for 16

    def begin(self, cell):
        cell.bank.padding = 2 * self.PIECE_BYTES

    def strike(self, cell):
        cell.refused_from = len(
            cell.gateway.find_log("step", step="ANSWER"))
        for number in range(self.OTHERS):
            client = Client(cell.gateway.address)
            client.send(build("POST", "/v1/charges", [
                ("Authorization", "other"),
                ("Idempotency-Key", f"other-{number}"),
                ("Content-Length", self.PIECE_BYTES + 1)]))
            client.send(b"x" * self.PIECE_BYTES)
            cell.hogs.append(client)

    def meanwhile(self, cell):
        """Until so many of them are refused that there is no more."""
        cell.gateway.wait_for_steps(
            "ANSWER", cell.refused_from + self.REFUSED)

    def heal(self, cell):
        for client in cell.hogs:
            client.reset()


class MemoryShortTooLong(MemoryShort):
    """There is none before the upstream's time is over."""

    breaks_answers = True
    options = {"timeout": "2500ms"}

    def meanwhile(self, cell):
        super().meanwhile(cell)
        cell.collect()


class RedisKilled(Fault):
    def strike(self, cell):
        cell.redis.kill()


class RedisFrozen(Fault):
    store_timeout = "1500ms"

    def strike(self, cell):
        cell.redis.freeze()

    def heal(self, cell):
        cell.redis.thaw()


class ReplyCut(Fault):
    """Redis has executed it, and nobody got the reply."""

    proxied = True
    store_timeout = "2s"

    def __init__(self, after_bytes=0):
        self.after_bytes = after_bytes

    def strike(self, cell):
        cell.redis_proxy.cut_answer_to(b":r:", self.after_bytes)


class RedisSlow(Fault):
    """Slow, and not silent: each reply takes longer than store.timeout, but
    never stops for so long."""

    proxied = True
    store_timeout = "1500ms"
    BYTES, PAUSE_S, PIECES = 5, 0.2, 16

    def strike(self, cell):
        cell.redis_proxy.trickle(self.BYTES, self.PAUSE_S)

    def meanwhile(self, cell):
        cell.revive_redis()
        cell.redis_proxy.wait_until(
            lambda: cell.redis_proxy.pieces >= self.PIECES,
            "a few slow replies")

    def heal(self, cell):
        cell.redis_proxy.trickle()
        cell.collect()


class RecordForgotten(Fault):
    """Redis no longer has the key's record, or no longer has anything."""

    forgets = True

    def __init__(self, all_of_them=False):
        self.all_of_them = all_of_them

    def strike(self, cell):
        cell.revive_redis()
        if self.all_of_them:
            cell.redis("FLUSHALL")
            return
        for name in cell.redis.keys():
            if b":r:" in name:
                cell.redis("DEL", name)


class DatabaseKilled(Fault):
    """The API's, where its payments are and their witness."""

    def begin(self, cell):
        cell.database = self.make()
        cell.bench.redises.append(cell.database)

    def make(self):
        return database_like_all()

    def strike(self, cell):
        cell.database.cut()

    def meanwhile(self, cell):
        """Until the gateway has met it, if it does."""
        super().meanwhile(cell)
        try:
            cell.gateway.wait_until(
                lambda: cell.has_said("asked", "witness_down"),
                timeout=NOTICE_S)
        except Late:
            pass

    def heal(self, cell):
        cell.database.start()


class DatabaseFrozen(DatabaseKilled):
    def strike(self, cell):
        cell.database.freeze_all()

    def heal(self, cell):
        cell.database.thaw_all()


class DatabaseMoved(DatabaseKilled):
    """Its standby takes its place, which has all that it had."""

    def make(self):
        return PostgresPair()

    def strike(self, cell):
        cell.database.wait_copied()
        cell.database.primary.kill(signal.SIGINT)
        cell.database.promote()

    def heal(self, cell):
        pass


class PoolerKilled(DatabaseKilled):
    """The PgBouncer between, of transactions, which starts again."""

    def begin(self, cell):
        cell.pooler = Pooler(database_of_all(), "transaction")
        cell.bench.upstreams.append(cell.pooler)

    def strike(self, cell):
        cell.pooler.restart()

    def heal(self, cell):
        pass


class UpstreamBreaks(Fault):
    """Connections are reset, and every answer is cut."""

    breaks_answers = True

    def __init__(self, accident):
        self.accident = accident

    def strike(self, cell):
        cell.bank.accident = self.accident
        cell.bank.cut_all()

    def heal(self, cell):
        cell.bank.accident = None


class ClientGone(Fault):
    def __init__(self, how):
        self.how = how

    def strike(self, cell):
        for payment in cell.payments:
            payment.leave(self.how)


class DiskFull(Fault):
    """Full as far as the gateway can see: none of its files may grow."""

    def strike(self, cell):
        limit_files(cell.gateway, 0)

    def heal(self, cell):
        limit_files(cell.gateway, -1)


class DiskFullRedisKilled(DiskFull):
    """No place to keep an outcome: Redis is gone too."""

    def strike(self, cell):
        super().strike(cell)
        cell.redis.kill()


class SmallDiskFull(Fault):
    """A disk of its own, written full; Redis is killed with it."""

    def state_dir(self, cell):
        cell.disk = mount_disk()
        return cell.disk

    def strike(self, cell):
        with open(os.path.join(cell.disk, "filler"), "wb", 0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
        cell.redis.kill()

    def heal(self, cell):
        os.unlink(os.path.join(cell.disk, "filler"))

    def clean(self, cell):
        if cell.disk:
            drop_disk(cell.disk)


def mount_disk():
    """Mounts a small file system; OSError where this user may not."""
    folder = make_folder()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "once", folder],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        drop_folder(folder)
        raise OSError(done.stderr.strip())
    return folder


def drop_disk(folder):
    subprocess.run(["umount", "-l", folder], stdin=subprocess.DEVNULL,
                   check=True)
    drop_folder(folder)
