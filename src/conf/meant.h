/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/amount.h"
#include "conf/option.h"

/*
 * What somebody may have meant by an amount that is written as other programs
 * have it.  Pure; any thread.
 */

/*
 * The amount that a number without a unit, or one with the unit of other
 * programs ("30sec", "1MB"), stands for, as it is written here and within the
 * option's range; NULL: nothing comes to mind.  The caller frees it.
 */
char *meant_amount(const struct option *option, const json_t *value,
    enum amount_kind kind);
