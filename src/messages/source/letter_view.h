/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/broker/broker.h"
#include "messages/source/inquiry.h"

/*
 * What operators see of a dead letter.  Pure; any thread.
 */

/* At the end of the inquiry's messages; not one that its list leaves out. */
void letter_view_add(struct inquiry *inquiry, const char *source,
    const struct broker_message *message);
/* Whether it is parked behind another one, and not dead itself. */
bool letter_view_is_parked(const struct broker_message *message);
