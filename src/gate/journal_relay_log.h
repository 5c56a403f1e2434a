/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/log.h"
#include "store/journal/journal.h"
#include "store/record/key_set.h"

/*
 * What the journal relay says in the log.  It decides nothing, and keeps
 * nothing.  The worker's thread.
 */
void journal_relay_log_writable(const struct journal *journal, bool can);
void journal_relay_log_entry(const struct conf_store *conf,
    const struct journal_entry *entry, enum event event);
/* That an entry's record is damaged, once for each key: those in said. */
void journal_relay_log_blocked(const struct conf_store *conf,
    struct key_set *said, const struct journal_entry *entry);
void journal_relay_log_damaged(const struct journal *journal, uint64_t id);
