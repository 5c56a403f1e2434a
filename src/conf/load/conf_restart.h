/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * What only a new start changes: the options that tbl/options.h calls
 * RESTART, and where records are.  Main thread.
 */

/*
 * Adds a warning for each of them in which two configurations differ, and that
 * none of the complaints is about yet, so that the operator is told to start
 * anew.  A secret whose {"file"} changed is not noticed.
 */
void conf_restart_warn(const struct conf *running, const struct conf *next,
    struct complaints *complaints);
/*
 * Where they lead to the same Redis, as far as they say so themselves, the next
 * one's login is the newer one, which the running one gets; so are the
 * certificates and the authorities of its TLS, where they are named alike.
 * Nothing else of what leads to it is changed.
 */
void conf_restart_renew(const struct conf *running, const struct conf *next);
/*
 * Whether the store, which writes events if the configuration of the start says
 * so, writes those that the next one's relays need; else that is a complaint.
 */
bool conf_restart_has_events(
    bool written, const struct conf *next, struct complaints *complaints);
/*
 * Whether the next configuration, with the store of the running one, which is a
 * cluster, finds the records of its routes where they are; each route that does
 * not is a complaint.  There records are in the shard of their entity: with
 * another entity their keys would be free, and be executed again.  So is a
 * store that is no cluster, for which routes are checked by other rules.
 */
bool conf_restart_finds(const struct conf *running, const struct conf *next,
    struct complaints *complaints);
