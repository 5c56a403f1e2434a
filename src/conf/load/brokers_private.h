/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * The servers that messages come from, and what names them.  Main thread.
 */

/*
 * Complains about members of a broker, a source or a relay that only other
 * kinds of brokers have, and about what this kind needs.
 */
void brokers_check_members(struct loader *l, enum group group,
    const struct json_place *at, json_t *object,
    const struct conf_broker *broker);
/* What the members of one must be together, and of which kind it is. */
void brokers_check(struct loader *l, const struct json_place *at,
    json_t *value, void *broker);
