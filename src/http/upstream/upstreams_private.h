/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "http/upstream/connector.h"
#include "http/upstream/target.h"
#include "http/upstream/upstreams.h"

struct transfer;

/*
 * What all forwards of a worker share.  forward.c and transfer.c use it, and
 * it knows transfers in turn, because those that rest are freed with it.  The
 * worker's thread only.
 */
enum { READ_BYTES = 65536 };

struct upstreams {
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	struct connector *connector;
	const struct conf_upstream *list;
	size_t count;
	struct target_list *targets; /* of each upstream, by its index */
	struct histogram *const *took; /* likewise; NULL: nobody asks */
	size_t pending;
	struct transfer *spare; /* those that rest */
	size_t n_spare;
	char buffer[READ_BYTES];
};
