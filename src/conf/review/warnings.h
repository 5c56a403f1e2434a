/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * What a configuration may say and had better not: it is legal, and endangers
 * the promise.  Main thread.
 */

/* Adds a warning for each, at that time of the wall's clock. */
void warnings_find(
    const struct conf *conf, int64_t now_ms, struct complaints *complaints);
