/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <curl/curl.h>

#include "base/counter.h"
#include "base/loop/loop.h"

/*
 * A connector has libcurl's multi interface work on a worker's loop: libcurl
 * waits by watches and one timer of that.  It knows nothing of what the handles
 * are for.  The worker's thread only.
 */
struct connector {
	struct loop *loop;
	/*
	 * The owner's: a count that the connections which are made with this
	 * connector are part of; it outlives them.  NULL: nobody counts them.
	 */
	struct counter *connections;

	/* Its own: */
	CURLM *multi;
	struct timer alarm; /* libcurl's one timer */
	struct task kick;   /* the same, where it is due at once */
	struct curl_socket **sockets; /* by descriptor */
	size_t n_sockets;
};

struct connector *connector_new(struct loop *loop);
/* Nulls the pointer, accepts NULL; all handles were removed before. */
void connector_free(struct connector **connector);

/* A handle that libcurl works on; a member of its owner. */
struct dial {
	/* Called once, never from within, with what became of it. */
	void (*done)(void *arg, CURLcode result);
	void *arg;

	/* It failed since no descriptor was free; connector_add clears this. */
	bool no_descriptor;

	/* The connector's own: */
	struct connector *connector;
	CURL *easy;
	unsigned n_sockets; /* that libcurl waits for */
	struct task nudge;
};

/* Has libcurl work on a handle, which stays added when it is done. */
void connector_add(
    struct connector *connector, CURL *easy, struct dial *dial);
/*
 * Takes a handle from libcurl, which closes what it has of its connection; done
 * is not called any more.  Not to be called from within libcurl's callbacks;
 * done is none of them.
 */
void connector_remove(struct connector *connector, struct dial *dial);
