/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * Whether what a route asks about an unknown outcome can be asked, and would
 * never bring one tenant another's answer.  Main thread.
 */

/* Of all routes; brokers are checked by then. */
void asks_check(struct loader *l);
