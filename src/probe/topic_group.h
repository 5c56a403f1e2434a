/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * By which protocol the members of a group share its partitions, for `doctor`;
 * it joins no group.  It blocks for seconds; any thread.  For free(); NULL: the
 * group has no members, or that cannot be found out.
 */
char *topic_group_protocol(
    const struct conf_broker *broker, const char *group);
