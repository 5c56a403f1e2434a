/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * URLs: where Redis or PostgreSQL is, and the targets of an upstream.  Main
 * thread, but for url_clear_targets.
 */

/* Reads one more target of an upstream. */
void url_load_target(struct loader *l, const struct json_place *at,
    const json_t *value, struct conf_upstream *upstream);

/*
 * Decodes %XX (RFC 3986, 2.1); an empty text gives NULL.  False, and
 * *ret_text is untouched: it is not well-formed, or has a NUL.
 */
bool url_decode(struct span s, char **ret_text);

/* --- types of conf/types.h --- */

/*
 * Fills address, db and managed of a struct conf_redis; the user and password
 * of a URL are the loader's.
 */
void url_parse_redis(struct loader *l, const struct given *given);
/* The same, and it must not be "managed". */
void url_parse_redis_url(struct loader *l, const struct given *given);
/*
 * The URI of a PostgreSQL, of which libpq takes several hosts and parameters.
 * The field gets it without its password, which is the loader's.
 */
void url_postgres_parse(struct loader *l, const struct given *given);
void url_parse_targets(struct loader *l, const struct given *given);
void url_clear_targets(void *base, void *field);
