/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * The objects of the file, each read by the one table of options
 * (tbl/options.h) into the struct of its group: the whole file, and what
 * stands in it.  Main thread, but for the functions that clear, which the last
 * thread with a reference calls.
 *
 * Circle: object, brokers, source, cross_check.  Brokers, sources and
 * relays are objects of the file and have some; each is checked where it is
 * read, and the check of the whole file ends with that of sources and relays.
 */

/* Gives every field of a group its default; the struct is zeroed. */
void object_load_presets(struct loader *l, enum group group, void *base);
/* Reads an object of a group. */
void object_load(struct loader *l, enum group group,
    const struct json_place *at, json_t *value, void *base);
/* Reads a value into the field of an option. */
void object_load_option(struct loader *l, const struct option *option,
    const struct json_place *at, json_t *value, void *base);
/* Frees what the fields of a group hold. */
void object_clear(enum group group, void *base);

/* The routes, once upstreams and defaults are known. */
void object_load_routes(struct loader *l);

/* --- types of conf/types.h --- */

/* Lists: objects, or in short addresses; and objects alone. */
void object_parse_listens(struct loader *l, const struct given *given);
void object_clear_listens(void *base, void *field);
void object_parse_encryption_keys(
    struct loader *l, const struct given *given);
void object_clear_encryption_keys(void *base, void *field);
void object_parse_upstreams(struct loader *l, const struct given *given);
void object_clear_upstreams(void *base, void *field);
/* Reads nothing: routes need what stands behind them in the file. */
void object_parse_routes(struct loader *l, const struct given *given);
void object_clear_routes(void *base, void *field);
/* The idempotency of a route, which starts from the defaults. */
void object_parse_idempotency(struct loader *l, const struct given *given);
void object_parse_defaults(struct loader *l, const struct given *given);
void object_clear_idempotency(void *base, void *field);
/* A word, or an object with how to ask the upstream. */
void object_parse_on_unknown(struct loader *l, const struct given *given);
void object_clear_on_unknown(void *base, void *field);
/* The name of an upstream, which stands before it in the table. */
void object_parse_upstream_name(struct loader *l, const struct given *given);
