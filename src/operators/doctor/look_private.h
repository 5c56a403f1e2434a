/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` looks at, a file each: they put their questions, and add what
 * the answers mean to the findings.  They change nothing anywhere, and block.
 * Main thread.
 */

/* The file and this machine; the journal once the store has been looked at. */
void look_host(struct doctor *doctor);
void look_host_journal(struct doctor *doctor);

/*
 * Sees whether a Redis that was connected to does anything at all now; it gives
 * the connection back, also where some right or its disk fails, as there is
 * much to see all the same.  NULL: the message, for free(), says why not.
 */
struct dialled *look_redis_enter(
    struct dialled *redis, const struct conf_redis *at, char **ret_message);

/* The store: its Sentinels, and its Redis or the masters of its cluster. */
void look_store(struct doctor *doctor);
/*
 * Looks at server at of a cluster, whose masters are masters (NULL: not known);
 * without a cluster both are NULL, and it is the one Redis.  pointer: where the
 * file says where it is.
 */
void look_redis(struct doctor *doctor, const char *pointer,
    const struct cluster_masters *masters, const struct cluster_master *at);
/* None can be looked at, for that reason. */
void look_redis_unseen(
    struct doctor *doctor, const char *pointer, const char *message);

/* The upstreams, the receivers of webhooks, and the keys of tokens. */
void look_upstreams(struct doctor *doctor);
/* What they answer to a reconcile of a key that no payment has. */
void look_reconcile(struct doctor *doctor);

/* What sources, relays and witnesses read and write, and their brokers. */
void look_sources(struct doctor *doctor);

/*
 * What the kinds of brokers have in common, for the files that ask each; those
 * look at a source, a relay or a route's witness, and at its broker, from
 * outside of any gateway.  They take no message and join no group.
 */
struct look_broker {
	struct doctor *doctor;
	/* One of the three is not NULL: whose broker it is. */
	const struct conf_source *source;
	const struct conf_relay *relay;
	const struct conf_route *route;
	const struct conf_broker *broker;
	const char *where; /* in the file */
	/* Where its broker cannot be looked at: what is said, and not known. */
	enum finding_name unseen;
	enum finding_needs needs;
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

void look_streams(const struct look_broker *at);
void look_postgres(const struct look_broker *at);
void look_kafka(const struct look_broker *at);
