/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>
#include <stdint.h>

struct answer;
struct fields;
struct mhd_exchange;

/*
 * libmicrohttpd takes no answer in the middle of a request's body.  One that
 * comes so early, of an upstream that refuses what it is being sent or that
 * answers while it reads, is written past it, on the same socket:
 * libmicrohttpd goes on reading the body, and the connection ends behind the
 * answer.  So is an answer whose head may have no room in libmicrohttpd's
 * memory beside the request's.  The front's thread.
 */

/* True where an answer now has to be given in this way. */
bool early_response_is_due(const struct mhd_exchange *x,
    const struct answer *answer, const struct fields *more);
/*
 * False, the second time, and where nothing more has come of the body: else
 * libmicrohttpd, whose buffer was full, reads once more before that is decided.
 */
bool early_response_waits(struct mhd_exchange *x);
/*
 * Sends the answer, with its own body or, where there is an x->down, with so
 * many bytes of that; -1: nobody knows how many.
 */
void early_response_new(struct mhd_exchange *x, const struct answer *answer,
    const struct fields *more, int64_t length);
/* libmicrohttpd's call about more of the body, or its end. */
enum MHD_Result early_response_on_request(
    struct mhd_exchange *x, const char *data, size_t *len);
/* There is more in x->down, or its end. */
void early_response_pump(struct mhd_exchange *x);
bool early_response_is_sent(const struct mhd_exchange *x);
/* The owner leaves: what is not out by now is cut off. */
void early_response_leave(struct mhd_exchange *x);
void early_response_free(struct mhd_exchange *x);
