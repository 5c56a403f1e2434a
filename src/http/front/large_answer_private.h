/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct answer;
struct fields;
struct large_answer;
struct mhd_exchange;

/*
 * An answer whose head has no room in libmicrohttpd's memory is written past
 * it, on the same socket, and the connection ends behind it.  The front's
 * thread.
 */

/*
 * The answer, with its own body or, where there is an x->down, with so many
 * bytes of that; -1: nobody knows how many.  over() is called once it is sent,
 * or cannot be.  NULL: its head has room there.
 */
struct large_answer *large_answer_new(struct mhd_exchange *x,
    const struct answer *answer, const struct fields *more, int64_t length,
    void (*over)(void *x, bool sent));
/*
 * Sends what the client takes, of what is there.  True: it goes on when the
 * socket can be written to.
 */
bool large_answer_pump(struct large_answer *large);
/* Nulls the pointer, accepts NULL. */
void large_answer_free(struct large_answer **large);
