/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/node.h"

/*
 * Gives a node our library of functions (record/library.h), when a call of
 * one was told that it is not there: on the same connection, so that what is
 * sent behind it finds it there, and once for all calls that were told so.
 * For src/store/ alone; the store's thread.
 */

/* FUNCTION LOAD, unless one is under way. */
void function_loader_send(struct node *node);
/* Whether Redis refused the last one; the log has its reason. */
bool function_loader_failed(const struct node *node);
