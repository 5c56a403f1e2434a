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

/* The store: its Sentinels, and its Redis or the masters of its cluster. */
void look_store(struct doctor *doctor);
/*
 * Leads the commands of cures to a Redis: its host and port, or its socket, its
 * database, and the files for TLS.  Where the file has a password, redis-cli
 * asks for one: an administrator has another, and may have another name, than
 * the gateway.  host NULL: where redis says, as far as that is one server.
 */
void look_cli(struct doctor *doctor, const struct conf_redis *redis,
    const char *host, uint16_t port);
void look_cli_nowhere(struct doctor *doctor);

/* The upstreams, and the receivers of webhooks. */
void look_upstreams(struct doctor *doctor);
/* What they answer to a reconcile of a key that no payment has. */
void look_reconcile(struct doctor *doctor);

/* What the sources read and write, their brokers, and what relays bring to. */
void look_sources(struct doctor *doctor);
void look_sources_relays(struct doctor *doctor);

/* The same, of each kind of broker (look_broker_private.h). */

void look_streams(struct doctor *doctor, const struct conf_source *source);
void look_postgres(struct doctor *doctor, const struct conf_source *source);
void look_postgres_relay(struct doctor *doctor, const struct conf_relay *relay);
void look_kafka(struct doctor *doctor, const struct conf_source *source);
void look_kafka_relay(struct doctor *doctor, const struct conf_relay *relay);
