/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct mhd_exchange;

/*
 * The head of a request, out of libmicrohttpd's buffers: what it shows, what
 * it hides, and what it had better not find there.  It judges nothing.  The
 * front's thread.
 */

/*
 * Copies the target into the exchange's arena, first of all, and has
 * libmicrohttpd find no query in it, which reads there.
 */
void head_copy_target(struct mhd_exchange *x, const char *target);
/*
 * Copies the head into the exchange's arena: libmicrohttpd forgets it when
 * the client leaves.  Method and version as libmicrohttpd hands them over.
 */
void head_copy(
    struct mhd_exchange *x, const char *method, const char *version);
/* Has it find no expectation in a request that needs no 100 (Continue). */
void head_copy_hide_expectation(struct mhd_exchange *x);
