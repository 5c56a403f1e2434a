/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * Whether a user may use a transactional id, or read as a group, for `doctor`:
 * asked by requests that a broker judges by the user's rights first, and then
 * does not carry out.  Each blocks for seconds; any thread.  What cannot be
 * found out is false.
 */

/*
 * True: it may not.  Asked with a timeout of 24 days, which is more than
 * brokers allow (transaction.max.timeout.ms): so who has the id is not fenced,
 * but by one that was set to allow just that.
 */
bool topic_right_id_denied(const struct conf_broker *broker, const char *id);
/*
 * True: it may not read as it.  Asked by an offset of a topic that cannot be.
 */
bool topic_right_group_denied(
    const struct conf_broker *broker, const char *group);
