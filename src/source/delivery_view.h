/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "source/delivery.h"
#include "source/inquiry.h"

/* What operators see of a delivery, and tell it.  The worker's thread. */

enum message_state delivery_view_state(const struct delivery *d);
/* What it is now, in the inquiry's arena. */
struct message_view *delivery_view(
    const struct delivery *d, struct inquiry *inquiry);
/*
 * Has it acknowledged, its record untouched; the inquiry goes on when that is
 * so.  False: it is at work, and nothing was changed.
 */
MUST_USE bool delivery_view_drop(struct delivery *d, struct inquiry *inquiry);
/* It is over: whoever had it dropped hears of that. */
void delivery_view_over(struct delivery *d);
