/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/probe/source_seen.h"

/*
 * Looks at the table of a relay, and at its broker, from outside of any
 * gateway, for `doctor`.  It changes nothing and does not judge.  It blocks, up
 * to 5 s with each question and each host; any thread that may.  The caller
 * clears *ret_seen, of which how, message, replica, missing, rights and grant
 * are filled in.
 */
void ledger_query(
    const struct conf_relay *relay, struct source_seen *ret_seen);
