/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <curl/curl.h>

#include "base/counter.h"
#include "base/loop/loop.h"

/*
 * libcurl's multi interface on a worker's loop: what it waits for becomes
 * watches and one timer.  It knows nothing of what the handles are for.  The
 * worker's thread only.
 */
struct connector {
	struct loop *loop;
	/*
	 * For its owner: a count, part of which are the connections that were
	 * made with it; it outlives them.  NULL: nobody counts them.
	 */
	struct counter *connections;

	/* Its own: */
	CURLM *multi;
	struct timer alarm; /* libcurl's one timer */
	struct task kick;   /* the same when it is due at once */
	struct probe **probes; /* by descriptor */
	size_t n_probes;
};

struct connector *connector_new(struct loop *loop);
/* All handles have been removed; nulls the pointer, accepts NULL. */
void connector_free(struct connector **connector);

/* A handle that libcurl works on; a member of its owner. */
struct dial {
	/* Told, once and never from within, what became of it. */
	void (*done)(void *arg, CURLcode result);
	void *arg;

	bool no_descriptor; /* that is why it failed; connector_add clears it */

	/* The connector's own: */
	struct connector *connector;
	CURL *easy;
	unsigned probes; /* descriptors that libcurl waits for */
	struct task nudge;
};

/* Has libcurl work on a handle, which stays added when it is done. */
void connector_add(
    struct connector *connector, CURL *easy, struct dial *dial);
/*
 * Closes what libcurl has of the handle's connection; done is not called any
 * more.  Not from within libcurl's callbacks; done is none of them.
 */
void connector_remove(struct connector *connector, struct dial *dial);
