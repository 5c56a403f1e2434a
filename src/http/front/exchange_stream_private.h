/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <microhttpd.h>
#include <sys/types.h>

struct flow;
struct mhd_exchange;

/*
 * Bodies of any size: what libmicrohttpd reads goes into a flow, what it
 * sends comes out of one, and it is held for as long as the other side of
 * the flow is not ready.  The front's thread.
 */

/* --- the request's body --- */

/* The body goes into that flow, from its first byte on. */
void exchange_stream_to(struct mhd_exchange *x, struct flow *flow);
/* Takes bytes of it, and leaves in *len how many were not taken. */
enum MHD_Result exchange_stream_data(
    struct mhd_exchange *x, const char *data, size_t *len);
/* There is no more of it: 0, it was whole, or E_CLIENT_GONE. */
void exchange_stream_end(struct mhd_exchange *x, int error);

/* --- the answer's body --- */

/* The answer's content comes out of that flow. */
void exchange_stream_from(struct mhd_exchange *x, struct flow *flow);
/* libmicrohttpd asks for content of the answer; as MHD says it. */
ssize_t exchange_stream_read(
    void *exchange, uint64_t at, char *buffer, size_t size);
/* What went out is not the whole answer; before the connection is ended. */
void exchange_stream_cut(struct mhd_exchange *x);

/* Both flows are the owner's alone from now on. */
void exchange_stream_detach(struct mhd_exchange *x);
