/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/machine.h"

/*
 * GET /observed: what routes that only observe would have done, and the last
 * requests of them whose keys came before, as the workers of this process have
 * them.  It changes nothing.  Main thread.
 */
struct admin_request;

enum after admin_observed(struct admin_request *a);
