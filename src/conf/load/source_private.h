/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Sources: what turns messages into requests; and relays, which name brokers,
 * too.  Main thread.
 */

/*
 * What the members of a source must be together, with its broker and with the
 * routes that may serve its requests; fills in what follows from them: a route
 * that says nothing of it gets the retention that messages need.  Routes have
 * their names by then.
 */
void source_check(struct loader *l, const struct json_place *at,
    json_t *value, void *source);
/*
 * The digest of what is configured of each source and each relay, of which
 * there are some, and of its broker, secrets included; of a configuration
 * without complaints.
 */
void source_digest_all(struct conf *conf);
/*
 * What the members of a relay must be together, with its broker and routes;
 * fills in what follows from them.  Routes have their names by then.
 */
void source_relay_check(struct loader *l, const struct json_place *at,
    json_t *value, void *relay);
/*
 * Fills in what the file leaves out; then complains of places of the other
 * kind, of what is read twice or would be read again, and, on a cluster, of
 * what has not one slot.  Sources and relays are checked by then.
 */
void source_places_check(struct loader *l);
