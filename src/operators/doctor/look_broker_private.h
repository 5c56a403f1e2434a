/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/look_private.h"

/*
 * What the kinds of brokers have in common, for the files that ask each; those
 * look at a source, a relay or a route's witness, and at its broker, from
 * outside of any gateway.  They change nothing there, take no message and join
 * no group, and block, for seconds.  Main thread.
 */
struct look_broker {
	struct doctor *doctor;
	/* One of the three is not NULL: whose broker it is. */
	const struct conf_source *source;
	const struct conf_relay *relay;
	const struct conf_route *route;
	const struct conf_broker *broker;
};

/* A finding of the one whose it is; detail and remedy are taken over. */
void look_broker_add(const struct look_broker *at, enum finding_name name,
    char *detail, char *remedy);
/* Of its broker, which other sources may have, too: said once. */
void look_broker_add_once(
    const struct look_broker *at, enum finding_name name, char *detail);
/* Its broker cannot be looked at: it is silent, or refuses our login. */
void look_broker_unseen(
    const struct look_broker *at, bool refused, const char *message);
/* What waits: so many messages (-1: not known), the oldest for so long. */
void look_broker_waits(
    const struct look_broker *at, int64_t lag, int64_t waits_ms);
