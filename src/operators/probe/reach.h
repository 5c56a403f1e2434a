/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "conf/conf.h"

/*
 * Finds out whether the targets of upstreams can be reached, and the receivers
 * of webhooks, which are upstreams without a name: each is connected to, as for
 * a request (name, address, TLS and its verification), and nothing is sent.
 * For commands, before there is a loop.
 *
 * A target with http:// that was reached is offered a handshake of TLS, too.
 * One that takes it is asked OPTIONS * without TLS, because a port may speak
 * both; of a request in plain HTTP to a port that speaks only TLS nobody would
 * know what became.
 */
struct reached {
	const struct conf_upstream *upstream;
	const struct conf_target *target;
	int error;         /* 0, or that of connection_open() */
	char message[256]; /* libcurl's about the error; "" for none */
	bool wants_tls;    /* http:// leads to TLS, and to no plain HTTP */
};

/*
 * One for each target, in the order of the configuration, and then one for
 * each webhook; the caller frees the list.  It blocks until the last has
 * answered, for four seconds more than the longest connect_timeout at most.
 */
struct reached *reach_targets(const struct conf *conf, size_t *ret_count);
