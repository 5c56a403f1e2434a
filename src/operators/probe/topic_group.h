/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Who else is in a group, for `doctor`, which joins none: that its members
 * share its partitions by another protocol, or one whose client id does not
 * begin so.  It blocks for seconds; any thread.  For free(); NULL: nobody is,
 * or that cannot be found out.
 */
char *topic_group_others(const struct conf_broker *broker, const char *group,
    const char *protocol, const char *begins);
