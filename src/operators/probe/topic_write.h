/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Whether a user may write to a topic, for `doctor`: asked by a request that a
 * broker judges by the user's rights first, and carries out never, as there are
 * no such acknowledgements (acks 2).  It blocks for seconds; any thread.
 */

/* True: it may not.  What cannot be found out is false. */
bool topic_write_forbidden(const struct conf_broker *broker, const char *topic);
