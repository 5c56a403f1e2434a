/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/container.h"
#include "base/must.h"
#include "base/test_build.h"
#include "gate/waiters.h"

/* The name is a hash: any byte of it is as good as another. */
static struct waiter **
bucket_of(struct waiters *waiters, const struct key_id *key_id)
{
	return &waiters->buckets[key_id->bytes[0] % WAITER_BUCKETS];
}

static void
count_waiting(struct waiters *waiters, int64_t more)
{
	counter_set(&waiters->waiting,
	    counter_read(&waiters->waiting) + (uint64_t)more);
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
waiters_listen(struct waiters *waiters, struct waiter *waiter,
    const struct key_id *key_id)
{
	waiters_leave(waiter);
	struct waiter **bucket = bucket_of(waiters, key_id);
	waiter->waiters = waiters;
	waiter->key_id = *key_id;
	waiter->heard = false;
	waiter->next = *bucket;
	waiter->link = bucket;
	if (waiter->next != NULL)
		waiter->next->link = &waiter->next;
	*bucket = waiter;
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
	for (unsigned i = 0; i < WAITER_BUCKETS; i++)
		for (struct waiter *w = waiters->buckets[i]; w; w = w->next)
			waiters_stop(w, error);
}

void
waiters_wait(struct waiter *waiter, int64_t ms)
{
	must(waiter->link != NULL && ms > 0);
	op_start(&waiter->op, ms, detach_waiter);
	count_waiting(waiter->waiters, 1);
	if (waiter->heard)
		waiters_stop(waiter, 0);
}

void
waiters_leave(struct waiter *waiter)
{
	op_cancel(&waiter->op);
	if (waiter->link == NULL)
		return;
	*waiter->link = waiter->next;
	if (waiter->next != NULL)
		waiter->next->link = waiter->link;
	waiter->link = NULL;
}

static void
wake_bucket(struct waiter **bucket, const struct key_id *key_id)
{
	for (struct waiter *w = *bucket; w != NULL; w = w->next) {
		if (!INVARIANT(waiters_woken) ||
		    (key_id != NULL &&
			memcmp(w->key_id.bytes, key_id->bytes,
			    DIGEST_BYTES) != 0))
			continue;
		w->heard = true;
		waiters_stop(w, 0);
	}
}

void
waiters_wake(struct waiters *waiters, const struct key_id *key_id)
{
	if (key_id != NULL) {
		wake_bucket(bucket_of(waiters, key_id), key_id);
		return;
	}
	for (unsigned i = 0; i < WAITER_BUCKETS; i++)
		wake_bucket(&waiters->buckets[i], NULL);
}
