/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "loop/log.h"

/*
 * Tells the log that Redis refused something, once a second for each kind of
 * error, its first word.  The store's thread.
 */
struct store;

/* operation: what was refused, a word such as "claim". */
void refused_log(struct store *store, enum event event, const char *operation,
    const char *error);
