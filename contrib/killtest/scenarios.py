# SPDX-License-Identifier: BSD-2-Clause
"""What happens to payments on their way.  Each scenario is a time line: it
begins payments, breaks something at a certain step, and mends it; afterwards
clients send each payment again until they are told what became of it."""

import asyncio
from dataclasses import dataclass

COUNT = 10  # payments of a scenario
SCENARIOS = []


@dataclass
class Scenario:
    words: str
    run: callable
    gateways: int = 1
    redis: bool = False  # something befalls Redis, or what is said there
    clock: bool = False  # of Redis, which is stepped


def scenario(words, *args, **members):
    """A time line with such words; one function may be several of them."""
    def add(function):
        SCENARIOS.append(
            Scenario(words, lambda w: function(w, *args), **members))
        return function
    return add


async def restart(w):
    w.gateway.kill()
    for link in (w.to_redis[0], w.to_upstream[0]):
        link.cut()
        link.release()
    w.upstream.answering.set()
    await w.answered()
    await w.gateway.start()


async def begin_unheard(w):
    """The keys may be claimed, and the gateway does not hear so."""
    w.begin(COUNT)  # so that it has its connections
    await w.answered()
    w.to_redis[0].hold("down")
    before = w.to_redis[0].bytes["up"]
    operations = w.begin(COUNT)
    await w.to_redis[0].quiet("up", before)
    return operations


async def begin_and_hold(w):
    """All payments were made, and no answer has come."""
    w.upstream.answering.clear()
    operations = w.begin(COUNT)
    await w.upstream.paid(COUNT)
    return operations


@scenario("nothing breaks, and each payment is sent twice")
async def nothing(w):
    operations = w.begin(COUNT)
    await w.answered()
    w.again(operations)


# --- the gateway -------------------------------------------------------------

@scenario("gateway killed before it sends", redis=True)
async def killed_before_sending(w):
    await begin_unheard(w)
    await restart(w)


@scenario("gateway killed after it has sent")
async def killed_after_sending(w):
    await begin_and_hold(w)
    await restart(w)


@scenario("gateway killed after it has stored the answer", "down", redis=True)
@scenario("gateway killed before it stores the answer", "up", redis=True)
async def kill_while_storing(w, held):
    await begin_and_hold(w)
    w.to_redis[0].hold(held)
    before = w.to_redis[0].bytes["up"]
    w.upstream.answering.set()
    await w.to_redis[0].quiet("up", before)
    await restart(w)


# --- the payment API ---------------------------------------------------------

@scenario("API answers half", "half")
@scenario("API dies after the payment", "die")
async def upstream_breaks(w, how):
    w.upstream.then = how
    w.begin(COUNT)
    await w.upstream.paid(COUNT)
    w.upstream.then = "answer"


@scenario("API answers after the gateway's patience")
async def upstream_late(w):
    await begin_and_hold(w)
    await asyncio.sleep(w.adapter.patience_s + 1)
    w.upstream.answering.set()


# --- Redis -------------------------------------------------------------------

@scenario("Redis killed, and back without its file", True, redis=True)
@scenario("Redis killed, and back with its file", False, redis=True)
async def kill_redis(w, lose):
    await begin_and_hold(w)
    w.redis.kill()
    w.upstream.answering.set()
    await asyncio.sleep(1)
    if lose:
        w.redis.lose()
    await w.redis.start()


@scenario("Redis frozen while answers come", redis=True)
async def redis_frozen(w):
    await begin_and_hold(w)
    w.redis.freeze()
    w.upstream.answering.set()
    await asyncio.sleep(w.adapter.lease_s + 1)
    w.redis.thaw()


@scenario("Redis slow", redis=True)
async def redis_slow(w):
    w.to_redis[0].delay = 0.2
    operations = w.begin(COUNT)
    w.again(operations)
    await w.answered()
    w.to_redis[0].delay = 0


@scenario("Redis full when answers come", redis=True)
async def redis_full(w):
    await begin_and_hold(w)
    w.redis.limit(1)
    w.upstream.answering.set()
    await asyncio.sleep(1)
    w.redis.limit(0)


# --- clients -----------------------------------------------------------------

@scenario("ten tries of each payment at once")
async def ten_at_once(w):
    operations = w.begin(COUNT)
    for _ in range(9):
        w.again(operations)
    await w.answered()


@scenario("retries after the lock's time, the first still on its way", True)
@scenario("retries while the first is on its way", False)
async def retried(w, late):
    operations = await begin_and_hold(w)
    await asyncio.sleep(late * (w.adapter.lease_s + 1))
    w.again(operations)
    await asyncio.sleep(1)
    w.upstream.answering.set()


# --- two gateways, and clocks ------------------------------------------------

@scenario("two gateways are sent the same at once", gateways=2)
async def two_at_once(w):
    operations = w.begin(COUNT)
    w.again(operations, 1)
    await w.answered()


async def thaw_late(w, operations):
    """Meanwhile the other gateway is sent the same."""
    await asyncio.sleep(w.adapter.lease_s + 1)
    w.again(operations, 1)
    await asyncio.gather(*w.tasks[-COUNT:])
    w.gateway.thaw()


@scenario("one of two gateways frozen past its lease, before it sends",
          gateways=2, redis=True)
async def frozen_before_sending(w):
    operations = await begin_unheard(w)
    w.gateway.freeze()
    w.to_redis[0].release()  # it will read that all keys are its own
    await thaw_late(w, operations)


@scenario("one of two gateways frozen past its lease, after it has sent",
          gateways=2)
async def frozen_after_sending(w):
    operations = await begin_and_hold(w)
    w.gateway.freeze()
    w.upstream.answering.set()
    await thaw_late(w, operations)


@scenario("Redis' clock is stepped by ten minutes", redis=True, clock=True)
async def clock_stepped(w):
    operations = await begin_and_hold(w)
    w.step_clock(600)
    w.again(operations)
    await asyncio.sleep(1)
    w.upstream.answering.set()
