/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

/*
 * The access line tells the log what became of one request.  Keys, tokens,
 * queries and bodies are never in it.  The worker's thread only.
 */
struct request;

/* The word for each enum outcome. */
extern const char *const access_log_outcomes[];

/*
 * Logs why a request without a key got no whole answer from its upstream; error
 * is of tbl/errors.h.
 */
void access_log_failed(const struct request *r, int error);
/*
 * Writes the line, unless log.access is false.  In any case an operator hears
 * of a key whose attempts are used up, and of memory that is.  The client was
 * given that status (0: none), and the whole request took took_us.
 */
void access_log(const struct request *r, int status, int64_t took_us);
