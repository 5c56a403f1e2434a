/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "base/test_build.h"
#include "gate/key_waiters.h"

static void
count_waiting(const struct key_waiter *waiter, int64_t more)
{
	struct counter *waiting = waiter->waiters->waiting;
	if (waiter->is_retry)
		counter_set(waiting, counter_read(waiting) + (uint64_t)more);
}

void
key_waiters_listen(struct key_waiters *waiters, struct key_waiter *waiter,
    const struct key_id *key_id)
{
	key_waiters_leave(waiter);
	waiter->waiters = waiters;
	waiter->key_id = *key_id;
	waiter->heard = false;
	hash_add(&waiters->listening, &waiter->item,
	    hash_of_digest(key_id->bytes));
}

void
key_waiters_leave(struct key_waiter *waiter)
{
	op_cancel(&waiter->op);
	if (waiter->waiters != NULL)
		hash_remove(&waiter->waiters->listening, &waiter->item);
	waiter->waiters = NULL;
}

/* The wait was given up; it listens until its owner ends that. */
static void
detach_waiter(struct op *op, int error)
{
	struct key_waiter *waiter = CONTAINER_OF(op, struct key_waiter, op);
	(void)error;
	count_waiting(waiter, -1);
}

void
key_waiters_wait(struct key_waiter *waiter, int64_t ms)
{
	must(waiter->waiters != NULL && ms > 0);
	op_start(&waiter->op, ms, detach_waiter);
	count_waiting(waiter, 1);
	if (waiter->heard)
		key_waiters_stop(waiter);
}

void
key_waiters_stop(struct key_waiter *waiter)
{
	if (waiter->op.state != OP_PENDING)
		return;
	count_waiting(waiter, -1);
	op_done(&waiter->op, 0);
}

static void
wake(struct key_waiter *waiter)
{
	if (!INVARIANT(waiters_woken))
		return;
	waiter->heard = true;
	key_waiters_stop(waiter);
}

void
key_waiters_wake(struct key_waiters *waiters, const struct key_id *key_id)
{
	struct key_waiter *waiter;
	if (key_id == NULL) {
		HASH_EACH(waiter, &waiters->listening, item)
			wake(waiter);
		return;
	}
	HASH_EACH_OF(waiter, &waiters->listening,
	    hash_of_digest(key_id->bytes), item)
		if (!memcmp(&waiter->key_id, key_id, sizeof *key_id))
			wake(waiter);
}
