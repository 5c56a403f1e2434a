/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The text of GET /metrics (Prometheus' exposition format 0.0.4) is gathered
 * from all workers here, without stopping any.  Nothing here knows who asks.
 * Main thread.
 */
struct admin;
struct body;
struct records_count;

/*
 * Appends the text to a body without a budget.  count is NULL where Redis did
 * not say.
 */
void admin_metrics_write(const struct admin *admin,
    const struct records_count *count, struct body *out);
/*
 * The i-th of a route's counters that begin at that offset of struct series, of
 * all workers together.
 */
uint64_t admin_metrics_of_route(
    const struct admin *admin, const char *route, size_t offset, size_t i);
