/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

/*
 * The life of a request, from its exchange to its end, and the table of its
 * steps.  The worker's thread only.
 */
struct exchange;

/* A new request of that exchange to that struct worker; it runs at once. */
void request_new(void *worker, struct exchange *x);
