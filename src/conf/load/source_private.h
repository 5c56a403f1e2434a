/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Sources: what turns messages into requests; and relays, which name brokers,
 * too.  Main thread.
 */

/*
 * What the members of sources must be together, with their broker, with the
 * routes that may serve their requests, and with one another; fills in what
 * follows from them: a route that says nothing of it gets the retention that
 * messages need.  Routes have their names by then.
 */
void source_check(struct loader *l);
/*
 * The digest of what is configured of each source and each relay, and of its
 * broker, secrets included; of a configuration without complaints.
 */
void source_digest_all(struct conf *conf);
/*
 * Fills in what the file leaves out; then complains of places of the other
 * kind, of what is read twice or would be read again, and, on a cluster, of
 * what has not one slot.  objects is what the file has at list.
 */
void source_places_check(
    struct loader *l, const struct json_place *list, json_t *objects);
/*
 * What the members of relays must be together, with brokers, sources and
 * routes; fills in what follows from them.  Routes have their names by then,
 * and sources all of their places.
 */
void source_relay_check(struct loader *l);
