/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "base/renewable.h"

struct renewable {
	pthread_mutex_t lock;
	struct renewed *now; /* the lock guards which one it is */
};

struct renewable *
renewable_new(void *object, void (*free_object)(void *object))
{
	struct renewable *renewable = mem_zero(sizeof *renewable);
	must(pthread_mutex_init(&renewable->lock, NULL) == 0);
	renewable->now = mem_zero(sizeof *renewable->now);
	atomic_init(&renewable->now->refs, 1);
	renewable->now->object = object;
	renewable->now->free_object = free_object;
	return renewable;
}

void
renewable_free(struct renewable **renewable)
{
	struct renewable *r = *renewable;
	*renewable = NULL;
	if (r == NULL)
		return;
	renewable_return(&r->now);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

struct renewed *
renewable_borrow(struct renewable *renewable)
{
	must(pthread_mutex_lock(&renewable->lock) == 0);
	struct renewed *now = renewable->now;
	atomic_fetch_add(&now->refs, 1);
	must(pthread_mutex_unlock(&renewable->lock) == 0);
	return now;
}

void
renewable_renew(struct renewable *renewable, struct renewable *newer)
{
	struct renewed *next = renewable_borrow(newer);
	must(pthread_mutex_lock(&renewable->lock) == 0);
	struct renewed *old = renewable->now;
	renewable->now = next;
	must(pthread_mutex_unlock(&renewable->lock) == 0);
	renewable_return(&old);
}

void
renewable_return(struct renewed **renewed)
{
	struct renewed *r = *renewed;
	*renewed = NULL;
	if (r == NULL || atomic_fetch_sub(&r->refs, 1) != 1)
		return;
	r->free_object(r->object);
	free(r);
}
