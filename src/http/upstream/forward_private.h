/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/connector.h"
#include "http/upstream/forward.h"
#include "http/upstream/target.h"

/*
 * All forwards of a worker share this: upstreams.c makes it and frees it, and
 * forward.c works with it.  The worker's thread only.
 */
enum { FORWARD_READ_BYTES = 65536 };

struct upstreams {
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	struct connector *connector;
	const struct conf_upstream *list;
	size_t count;
	struct target_list *targets; /* of each upstream, by its index */
	struct histogram *const *took; /* likewise; NULL: nobody asks */
	size_t pending;                /* forwards */
	struct transfer *spare; /* what forward.c keeps for the next ones */
	size_t n_spare;
	char buffer[FORWARD_READ_BYTES]; /* of one read */
};

/* Frees what is kept for the next forwards; none is pending. */
void forward_free_spare(struct upstreams *upstreams);
