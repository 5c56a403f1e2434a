/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Whether a user may read a topic that is there, for `doctor`: asked by reading
 * from the end of its first partition, as no group.  It blocks for seconds; any
 * thread.
 */

/* True: it may not.  What cannot be found out is false. */
bool topic_read_forbidden(const struct conf_broker *broker, const char *topic);
