/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/log.h"

/*
 * Logs that Redis refused something: errors of the same kind (their first word)
 * in a row once a second.  It knows nothing of what was refused.  The store's
 * thread.
 */
struct store;

/* operation is what was refused, a word such as "claim". */
void refused_log(struct store *store, enum event event, const char *operation,
    const char *error);
