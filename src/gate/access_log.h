/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * The access line: what became of one request, for the log.  Keys, tokens,
 * queries and bodies are never in it.  The worker's thread only.
 */
struct request;

/*
 * Why a request without a key got no whole answer from the upstream: an error
 * of tbl/errors.h.
 */
void access_log_failed(const struct request *r, int error);
/* The status that its client was given; 0: none. */
int access_log_status(const struct request *r);
/*
 * The line, unless log.access is false; and what an operator should hear of in
 * any case: a key whose attempts are used up, and memory that is.  took_us is
 * the whole request's time.
 */
void access_log(const struct request *r, int64_t took_us);
