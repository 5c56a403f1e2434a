/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * The text of GET /metrics (Prometheus' exposition format 0.0.4) is gathered
 * from all workers here, without stopping any.  Nothing here knows who asks.
 * Main thread.
 */
struct admin;
struct body;

/*
 * Appends the text to a body without a budget.  records is their number in each
 * state; NULL where Redis did not say.
 */
void admin_metrics_write(
    const struct admin *admin, const uint64_t *records, struct body *out);
