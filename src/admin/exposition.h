/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "admin/admin_request.h"
#include "base/body.h"

/*
 * The text of GET /metrics (Prometheus' exposition format 0.0.4), gathered
 * from all workers without stopping any; records is how many are in each state,
 * or NULL where that is not known.  Main thread.
 */
void exposition_write(
    const struct admin *admin, const uint64_t *records, struct body *out);
