/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct mhd_exchange;

/*
 * The head of a request, as the client has sent it
 * (front/head_queue_private.h), taken apart; and what libmicrohttpd has to know
 * of it.  It judges nothing.  The front's thread.
 */

/*
 * Copies the head into the exchange's arena: libmicrohttpd forgets method and
 * version, which it hands over, when the client leaves.
 */
void head_copy(
    struct mhd_exchange *x, const char *method, const char *version);
