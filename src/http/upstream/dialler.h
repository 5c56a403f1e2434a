/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "http/upstream/connector.h"

/*
 * What it takes to connect to one target of an upstream: handles of libcurl
 * with every option set, which rest here from connection to connection.  It
 * knows nothing of connections themselves.  The worker's thread only.
 */
struct dialler {
	struct connector *connector;
	const struct conf_upstream *upstream;
	const struct conf_target *target;

	/* The dialler's own: */
	char *url;
	CURL *handles[16]; /* at rest */
	size_t n_handles;
};

/* Upstream and target outlive it. */
void dialler_init(struct dialler *dialler, struct connector *connector,
    const struct conf_upstream *upstream, const struct conf_target *target);
/* Its connections are closed. */
void dialler_end(struct dialler *dialler);

/* A handle for one connection, which the connector is to work on. */
CURL *dialler_take(struct dialler *dialler);
/* Takes a handle back that no connector works on; nulls the pointer. */
void dialler_give(struct dialler *dialler, CURL **easy);
