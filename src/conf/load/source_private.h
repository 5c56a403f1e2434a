/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Sources: what turns messages into requests; and relays, which name brokers,
 * too.  Main thread, but for the functions that clear.
 */

#define SOURCE_OPTION(field) \
	option_at(GROUP_SOURCE, offsetof(struct conf_source, field))

/* What PostgreSQL cuts names at (NAMEDATALEN). */
enum { IDENTIFIER_MAX = 63 };

/* The sources and the relays, once brokers and routes are known. */
void source_load(struct loader *l);

/* --- types of conf/types.h --- */

/* Reads nothing: they need what stands behind them in the file. */
void source_parse(struct loader *l, const struct given *given);
void source_clear(void *base, void *field);
void source_clear_relays(void *base, void *field);
/* The name of a broker. */
void source_parse_broker_name(struct loader *l, const struct given *given);

void source_value_parse_table(struct loader *l, const struct given *given);
/* A name of PostgreSQL: a column or a channel. */
void source_value_parse_column(struct loader *l, const struct given *given);
/* The same; null is none. */
void source_value_parse_optional_column(
    struct loader *l, const struct given *given);
/* "delete", or {"set": COLUMN}. */
void source_value_parse_finish(struct loader *l, const struct given *given);
void source_value_clear_finish(void *base, void *field);
/* {"stream": NAME}, {"table": NAME} or {"topic": NAME}. */
void source_value_parse_place(struct loader *l, const struct given *given);
/* A word, a list of pointers or {"header": NAME}. */
void source_value_parse_key(struct loader *l, const struct given *given);
void source_value_clear_key(void *base, void *field);
void source_value_parse_order(struct loader *l, const struct given *given);
void source_value_clear_order(void *base, void *field);

/* --- its request --- */

void source_value_parse_method(struct loader *l, const struct given *given);
/* Texts with variables, or secrets that stand elsewhere. */
void source_value_parse_headers(struct loader *l, const struct given *given);
void source_value_clear_headers(void *base, void *field);
/* The value of a header. */
void source_value_parse_value(struct loader *l, const struct given *given);

/* --- checks --- */

/*
 * What the members of sources must be together, with their broker and with one
 * another; fills in what follows from them.  Routes have their names by then.
 */
void source_check(struct loader *l);
/*
 * Fills in what the file leaves out; then complains of places of the other
 * kind, of what is read twice or would be read again, and, on a cluster, of
 * what has not one slot.  objects is what the file has at list.
 */
void source_places_check(
    struct loader *l, const struct json_place *list, json_t *objects);
/*
 * The digest of what is configured of each source and each relay, and of its
 * broker, secrets included; of a configuration without complaints.
 */
void source_digest_all(struct conf *conf);
/*
 * What the routes must be that may serve the requests of a source: complains
 * about each that a message should not come to; and gives those that say
 * nothing of it the retention that messages need.
 */
void source_route_check(struct loader *l, const struct json_place *at,
    const struct conf_source *source);

/* --- relays --- */

/*
 * What the members of relays must be together, with brokers, sources and
 * routes; fills in what follows from them.  Routes have their names by then,
 * and sources all of their places.
 */
void source_relay_check(struct loader *l);
/* A URL, which may have a path and a query, into a struct conf_upstream. */
void source_relay_parse_receiver(
    struct loader *l, const struct given *given);
void source_relay_clear_receiver(void *base, void *field);
