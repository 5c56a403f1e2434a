/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "http/front_private.h"

/*
 * Bodies of any size: what libmicrohttpd reads goes into a flow, what it
 * sends comes out of one, and it is held for as long as the other side of
 * the flow is not ready.
 */

/* --- the request's body --- */

static void on_left(void *exchange);

/* The flow has room, or its reader waits, or wants no more. */
static void
on_wanted(void *exchange)
{
	struct exchange *x = exchange;
	if (!x->in_head || flow_is_wanted(x->up))
		exchange_resume(x);
}

/*
 * Holds the connection while the flow is full.  That is done here and not
 * while libmicrohttpd gives what it has read: first it must have seen the
 * request's end in that, because a connection which was held is read before
 * anything else, and is given up where its client has closed its half.
 *
 * Such an end, behind the bytes that it reads, libmicrohttpd does not see by
 * itself, and what the flow did not take it does not offer again before more
 * comes.  It looks again at a connection that was held.
 */
static void
on_pace(void *exchange)
{
	struct exchange *x = exchange;
	if (x->suspended)
		return;
	if (!x->up->closed && flow_room(x->up) == 0) {
		exchange_hold(x);
	} else if (x->half_closed || x->left_over) {
		exchange_hold(x);
		exchange_resume(x);
	}
}

void
front_stream_body(struct exchange *x, struct flow *flow)
{
	must(!x->body_ended && x->doing == EXCHANGE_IDLE);
	x->up = flow;
	task_init(&x->pace, on_pace, x);
	flow_write_by(flow, on_wanted, x);
	front_watch_client(x, on_left, x);
}

enum MHD_Result
stream_data(struct exchange *x, const char *data, size_t *len)
{
	size_t taken = flow_put(x->up, data, *len);
	*len -= taken;
	x->left_over = *len > 0;
	x->body_bytes += taken;
	task_ready(x->front->loop, &x->pace);
	return MHD_YES;
}

void
stream_end(struct exchange *x, int error)
{
	if (x->up == NULL)
		return;
	struct flow *up = x->up;
	x->up = NULL;
	task_cancel(&x->pace);
	front_watch_client(x, NULL, NULL);
	flow_end(up, error);
}

/* --- the answer's body --- */

/* There are bytes again, or the end. */
static void
on_readable(void *exchange)
{
	struct exchange *x = exchange;
	if (x->beside != NULL)
		beside_pump(x);
	else
		exchange_resume(x);
}

void
stream_from(struct exchange *x, struct flow *flow)
{
	x->down = flow;
	flow_read_by(flow, on_readable, x);
}

/*
 * A client may close its half and wait for the answer, but one that has reset
 * its connection waits for nothing.
 */
static void
on_left(void *exchange)
{
	struct exchange *x = exchange;
	struct pollfd fd = {connection_of(x->mhd)->fd, 0, 0};
	bool reset =
	    poll(&fd, 1, 0) == 1 && (fd.revents & (POLLERR | POLLHUP));
	x->half_closed = true;
	if (x->up != NULL) {
		if (reset)
			exchange_resume(x);
		task_ready(x->front->loop, &x->pace);
	} else if (reset) {
		x->gone = true;
		exchange_resume(x);
	}
}

/*
 * Where the connection's end would be the end of the content, it is reset:
 * connecting to nowhere does that.
 */
void
stream_cut(struct exchange *x)
{
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	if (x->end_is_close)
		(void)!connect(
		    connection_of(x->mhd)->fd, &nowhere, sizeof nowhere);
}

static ssize_t
cut(struct exchange *x)
{
	stream_cut(x);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

ssize_t
stream_read(void *exchange, uint64_t at, char *buffer, size_t size)
{
	struct exchange *x = exchange;
	(void)at;
	if (x->down == NULL || x->gone)
		return cut(x);
	struct span bytes = flow_look(x->down);
	if (bytes.len > 0) {
		size_t len = bytes.len < size ? bytes.len : size;
		memcpy(buffer, bytes.ptr, len);
		flow_take(x->down, len);
		x->sent_bytes += len;
		return (ssize_t)len;
	}
	if (x->down->ended)
		return x->down->error == 0 ? MHD_CONTENT_READER_END_OF_STREAM
					   : cut(x);
	exchange_hold(x);
	if (!x->half_closed && x->client_watch == NULL)
		front_watch_client(x, on_left, x);
	return 0;
}

/* --- the end --- */

void
stream_detach(struct exchange *x)
{
	if (x->up != NULL) {
		task_cancel(&x->pace);
		flow_write_by(x->up, NULL, NULL);
	}
	if (x->down != NULL)
		flow_read_by(x->down, NULL, NULL);
	x->up = x->down = NULL;
}
