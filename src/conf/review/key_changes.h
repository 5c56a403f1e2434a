/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * What another configuration would change of keys that there are: a key is
 * found by namespace, scope and name, and compared by its fingerprint, so that
 * a change of these lets a retry execute again, or refuses it.  Main thread.
 */

/*
 * Adds a warning for each such change, route by route: of the routes of `next`
 * that may be sent what a route of `running` was sent; with restart, of what
 * only that changes, too: where the store is, and by what names and secret it
 * has records.
 */
void key_changes_find(const struct conf *running, const struct conf *next,
    bool restart, struct complaints *complaints);
