/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "load/loader_private.h"

/*
 * URLs: where Redis is, and the targets of an upstream.  Main thread, but for
 * url_clear_targets.
 */

/* Reads one more target of an upstream. */
void url_load_target(struct loader *l, const struct json_place *at,
    const json_t *value, struct conf_upstream *upstream);

/* --- types of conf/types.h --- */

/* Fills store.managed, store.redis and store.db; the rest is the loader's. */
void url_parse_redis(struct loader *l, const struct given *given);
void url_parse_targets(struct loader *l, const struct given *given);
void url_clear_targets(void *base, void *field);
