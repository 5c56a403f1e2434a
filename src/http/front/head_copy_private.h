/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

struct mhd_exchange;

/*
 * The head of a request, as the client has sent it
 * (front/client_io_private.h), taken apart; and what libmicrohttpd has to know
 * of it.  It judges nothing.  The front's thread.
 */
void head_copy(struct mhd_exchange *x);
