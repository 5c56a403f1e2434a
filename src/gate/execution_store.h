/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * The store's side of an execution: its outcome goes to Redis before anybody
 * hears of it.  What Redis does not take goes to the journal, and what that
 * does not take either is tried again for as long as the process lives.  The
 * worker's thread only.
 */

/* There is a whole answer, and it is stored. */
enum after execution_store_complete(struct machine *machine);
enum after execution_store_completed(struct machine *machine);
/* Nothing was sent, or nothing happened: the key is free again. */
enum after execution_store_release(struct machine *machine);
enum after execution_store_released(struct machine *machine);
/* Something was sent, and nobody knows what became of it. */
enum after execution_store_mark_unknown(struct machine *machine);
enum after execution_store_marked_unknown(struct machine *machine);
/* A while, before the outcome is offered to Redis again. */
enum after execution_store_pause(struct machine *machine);
enum after execution_store_paused(struct machine *machine);
/* The outcome is stored, or in the journal: retries that wait may claim. */
enum after execution_store_finish(struct machine *machine);
