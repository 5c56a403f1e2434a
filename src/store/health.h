/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/inside.h"

/*
 * Whether Redis, which answers, can be trusted with new claims: each store
 * asks it (INFO) whenever its link has come up, before anything else is sent
 * there, and one store of the process every few seconds, on its link like
 * any command.  A fault refuses new claims in the whole process until it is
 * mended; outcomes are stored all the same.  For src/store/ alone; the
 * store's thread.
 */

/* A new store, of whose process that is the common knowledge. */
void health_init(struct store *store, struct store_health *common);
/* Before the store's link is freed. */
void health_end(struct store *store);
/* From now on this store asks for all of them, every few seconds. */
void health_watch(struct store *store);
/* The link came up: until health_is_known, nothing but INFO is sent. */
void health_link_up(struct store *store);
void health_link_down(struct store *store);
/* False while the link is up and INFO has not been answered on it. */
bool health_is_known(const struct store *store);
/* Why new claims are refused, as this store or the watching one has found. */
enum store_fault health_fault(const struct store *store);
