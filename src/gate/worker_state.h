/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/budget.h"
#include "base/loop/log.h"
#include "base/loop/loop.h"
#include "conf/conf.h"
#include "gate/cache.h"
#include "gate/generation.h"
#include "gate/journal_replay.h"
#include "gate/key/duplicates.h"
#include "gate/key_waiters.h"
#include "gate/lease.h"
#include "gate/machine.h"
#include "gate/meter.h"
#include "gate/worker_part.h"
#include "http/front/front.h"
#include "store/store.h"

struct trusts;
struct witnesses;

/*
 * All that one thread's gateway consists of (gate/worker.h): requests,
 * executions and parts find each other's store, cache and upstreams through it.
 * The worker's thread only, but for members that say that other threads may
 * read them.
 */
struct worker {
	struct loop *loop;
	const struct conf *conf; /* of the start: what no reload changes */
	struct generation *generation;
	struct budget *budget;
	const struct places *places; /* of clients, in all workers */
	unsigned index;
	struct front *front;
	struct store *store;
	struct machines requests;
	struct machines executions;
	struct leases leases;
	struct journal_awaited *awaited; /* the process' */
	struct journal_replay journal_replay;
	struct key_waiters waiters;
	struct cache *cache;
	struct meter meter; /* the admin interface reads it, and these */
	struct duplicates duplicates;
	struct trusts *trusts;       /* in the routes' witnesses */
	struct witnesses *witnesses; /* those that it asks */
	struct worker_part *parts; /* the first of them; or NULL */

	bool draining;
	int64_t full_logged_us; /* when the log last had memory_full */
	int64_t events_full_logged_us; /* the same of events_full */
	bool over; /* drain_timeout is: nothing new is sent any more */
	struct timer drain;
	struct hook drained;
	struct log_hook log;
};
