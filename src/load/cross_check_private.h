/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "load/loader_private.h"

/*
 * What one member alone does not show: members that exclude or need each
 * other, names that must differ, and values that follow from others.  Main
 * thread.
 */

/* Checks the whole configuration, and fills in what follows. */
void cross_check_conf(struct loader *l);
/* The same for one object of idempotency. */
void cross_check_policy(struct loader *l, const struct json_place *at,
    struct conf_idempotency *policy);
