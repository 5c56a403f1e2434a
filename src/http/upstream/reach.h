/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "conf/conf.h"

/*
 * Whether the targets of upstreams, and the receivers of webhooks, which are
 * upstreams without a name, can be reached: each is connected to, as
 * for a request (name, address, TLS and its verification), and nothing is
 * sent.  For commands, before there is a loop: it blocks until the last has
 * answered, for the longest connect_timeout at most.
 */
struct reached {
	const struct conf_upstream *upstream;
	const struct conf_target *target;
	int error;        /* 0, or that of connection_open() */
	char message[256]; /* libcurl's about the error; "" for none */
	bool wants_tls;   /* of reach_plain_judge(): http:// leads to TLS */
};

/* Connects to each; the rest of the list has been filled in. */
void reach_try(struct reached *list, size_t count);

/*
 * One for each target, in the order of the configuration, and then one for
 * each webhook; the caller frees the list.
 */
struct reached *reach_targets(const struct conf *conf, size_t *ret_count);
