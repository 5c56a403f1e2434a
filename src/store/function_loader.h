/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * Loads our library of functions (record/script.h) into a server,
 * when a call was told that it is not there: on the same connection, so that it
 * is there for whatever is sent after it, and once for all calls that were told
 * so.  It knows no calls.  For src/store/ alone; the store's thread.
 */

/* Sends FUNCTION LOAD, unless one is under way. */
void function_loader_send(struct line *line);
/* Whether Redis refused the last one; the log has the reason. */
bool function_loader_failed(const struct line *line);
