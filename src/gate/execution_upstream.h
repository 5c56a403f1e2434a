/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * The upstream's side of an execution: the question about an earlier attempt,
 * where there is one, and the one sending of the request.  What became of it
 * is for the store's side (gate/execution_store.h).  The worker's thread only.
 */

/* The upstream is asked what became of the earlier attempt. */
enum after execution_upstream_ask(struct machine *machine);
enum after execution_upstream_asked(struct machine *machine);
/* It did not happen: the claim becomes an attempt of its own. */
enum after execution_upstream_reclaim(struct machine *machine);
enum after execution_upstream_reclaimed(struct machine *machine);
/* The request is sent. */
enum after execution_upstream_forward(struct machine *machine);
enum after execution_upstream_forwarded(struct machine *machine);
