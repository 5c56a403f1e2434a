/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay.h"

/*
 * An event as the JSON that a target is given (contract, section 12): all
 * members, always, null where nothing is known.  What is no UTF-8 is read as
 * Latin-1, a body of such bytes is in base64, and so is one that has a NUL,
 * which PostgreSQL's jsonb does not take.  Pure; any thread.
 */

/* One object, in the arena. */
struct span relay_text_event(
    struct arena *arena, const struct relay_event *event);
/* All events of a batch, as one list. */
struct span relay_text_events(
    struct arena *arena, const struct relay_batch *batch);
