/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "base/test_build.h"
#include "gate/waiters.h"

static void
count_waiting(struct waiters *waiters, int64_t more)
{
	counter_set(&waiters->waiting,
	    counter_read(&waiters->waiting) + (uint64_t)more);
}

void
waiters_listen(struct waiters *waiters, struct waiter *waiter,
    const struct key_id *key_id)
{
	waiters_leave(waiter);
	waiter->waiters = waiters;
	waiter->key_id = *key_id;
	waiter->heard = false;
	hash_add(&waiters->listening, &waiter->item,
	    hash_of_digest(key_id->bytes));
}

void
waiters_leave(struct waiter *waiter)
{
	op_cancel(&waiter->op);
	if (waiter->waiters != NULL)
		hash_remove(&waiter->waiters->listening, &waiter->item);
	waiter->waiters = NULL;
}

/* It goes on listening: the owner takes it out. */
static void
detach_waiter(struct op *op, int error)
{
	struct waiter *waiter = CONTAINER_OF(op, struct waiter, op);
	(void)error;
	count_waiting(waiter->waiters, -1);
}

void
waiters_wait(struct waiter *waiter, int64_t ms)
{
	must(waiter->waiters != NULL && ms > 0);
	op_start(&waiter->op, ms, detach_waiter);
	count_waiting(waiter->waiters, 1);
	if (waiter->heard)
		waiters_stop(waiter, 0);
}

void
waiters_stop(struct waiter *waiter, int error)
{
	if (!op_pending(&waiter->op))
		return;
	count_waiting(waiter->waiters, -1);
	op_done(&waiter->op, error);
}

void
waiters_stop_all(struct waiters *waiters, int error)
{
	struct waiter *waiter;
	HASH_EACH(waiter, &waiters->listening, item)
		waiters_stop(waiter, error);
}

static void
wake(struct waiter *waiter)
{
	if (!INVARIANT(waiters_woken))
		return;
	waiter->heard = true;
	waiters_stop(waiter, 0);
}

void
waiters_wake(struct waiters *waiters, const struct key_id *key_id)
{
	struct waiter *waiter;
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
