/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "base/swappable.h"

struct swappable {
	pthread_mutex_t lock;
	struct swappable_object *now; /* the lock guards which one it is */
};

struct swappable *
swappable_new(void *object, void (*free_object)(void *object))
{
	struct swappable *swappable = mem_zero(sizeof *swappable);
	must(pthread_mutex_init(&swappable->lock, NULL) == 0);
	swappable->now = mem_zero(sizeof *swappable->now);
	atomic_init(&swappable->now->refs, 1);
	swappable->now->object = object;
	swappable->now->free_object = free_object;
	return swappable;
}

void
swappable_free(struct swappable **swappable)
{
	struct swappable *r = *swappable;
	*swappable = NULL;
	if (r == NULL)
		return;
	swappable_release(&r->now);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

struct swappable_object *
swappable_acquire(struct swappable *swappable)
{
	must(pthread_mutex_lock(&swappable->lock) == 0);
	struct swappable_object *now = swappable->now;
	atomic_fetch_add(&now->refs, 1);
	must(pthread_mutex_unlock(&swappable->lock) == 0);
	return now;
}

void
swappable_swap(struct swappable *swappable, struct swappable *newer)
{
	struct swappable_object *next = swappable_acquire(newer);
	must(pthread_mutex_lock(&swappable->lock) == 0);
	struct swappable_object *old = swappable->now;
	swappable->now = next;
	must(pthread_mutex_unlock(&swappable->lock) == 0);
	swappable_release(&old);
}

void
swappable_release(struct swappable_object **object)
{
	struct swappable_object *r = *object;
	*object = NULL;
	if (r == NULL || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	r->free_object(r->object);
	free(r);
}
