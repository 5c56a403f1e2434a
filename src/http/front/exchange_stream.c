/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <sys/socket.h>

#include "base/error.h"
#include "http/front/client_connection_private.h"
#include "http/front/early_response_private.h"
#include "http/front/exchange_private.h"
#include "http/front/exchange_stream_private.h"
#include "http/front/front_private.h"
#include "http/front/spin_private.h"

/* --- the request's body --- */

static void on_left(struct mhd_exchange *x);

/* The flow has room, or its reader waits, or wants no more. */
static void
on_wanted(void *exchange)
{
	struct mhd_exchange *x = exchange;
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
	struct mhd_exchange *x = exchange;
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
exchange_stream_to(struct mhd_exchange *x, struct flow *flow)
{
	x->up = flow;
	task_init(&x->pace, on_pace, x);
	flow_write_by(flow, on_wanted, x);
	exchange_watch(x, on_left);
}

enum MHD_Result
exchange_stream_data(struct mhd_exchange *x, const char *data, size_t *len)
{
	size_t taken = flow_put(x->up, data, *len);
	*len -= taken;
	x->left_over = *len > 0;
	x->shown.body_bytes += taken;
	task_ready(x->front->loop, &x->pace);
	return MHD_YES;
}

void
exchange_stream_end(struct mhd_exchange *x, int error)
{
	if (x->up == NULL)
		return;
	struct flow *up = x->up;
	x->up = NULL;
	task_cancel(&x->pace);
	exchange_watch(x, NULL);
	flow_end(up, error);
}

/* --- the answer's body --- */

/* There are bytes again, or the end. */
static void
on_flow_readable(void *exchange)
{
	struct mhd_exchange *x = exchange;
	if (x->early != NULL)
		early_response_pump(x);
	else
		exchange_resume(x);
}

void
exchange_stream_from(struct mhd_exchange *x, struct flow *flow)
{
	x->down = flow;
	flow_read_by(flow, on_flow_readable, x);
}

/*
 * A client may close its half and wait for the answer, but one that has reset
 * its connection waits for nothing.
 */
static void
on_left(struct mhd_exchange *x)
{
	struct pollfd fd = {x->connection->fd, 0, 0};
	bool reset =
	    poll(&fd, 1, 0) == 1 && (fd.revents & (POLLERR | POLLHUP));
	x->half_closed = true;
	if (x->up != NULL) {
		if (reset)
			exchange_resume(x);
		task_ready(x->front->loop, &x->pace);
	} else if (reset) {
		x->shown.gone = true;
		exchange_resume(x);
	}
}

/*
 * Where the connection's end would be the end of the content, it is reset:
 * connecting to nowhere does that.
 */
void
exchange_stream_cut(struct mhd_exchange *x)
{
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	if (x->end_is_close)
		(void)!connect(
		    x->connection->fd, &nowhere, sizeof nowhere);
}

static ssize_t
end_with_error(struct mhd_exchange *x)
{
	exchange_stream_cut(x);
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

ssize_t
exchange_stream_read(void *exchange, uint64_t at, char *buffer, size_t size)
{
	struct mhd_exchange *x = exchange;
	(void)at;
	if (x->down == NULL || x->shown.gone)
		return end_with_error(x);
	struct span bytes = flow_look(x->down);
	if (bytes.len > 0) {
		size_t len = bytes.len < size ? bytes.len : size;
		memcpy(buffer, bytes.ptr, len);
		flow_take(x->down, len);
		x->shown.sent_bytes += len;
		spin_moved(x->connection);
		return (ssize_t)len;
	}
	if (x->down->ended)
		return x->down->error == 0 ? MHD_CONTENT_READER_END_OF_STREAM
					   : end_with_error(x);
	exchange_hold(x);
	if (!x->half_closed && x->hang_up == NULL)
		exchange_watch(x, on_left);
	return 0;
}

/* --- the end --- */

void
exchange_stream_detach(struct mhd_exchange *x)
{
	if (x->up != NULL) {
		task_cancel(&x->pace);
		flow_write_by(x->up, NULL, NULL);
	}
	if (x->down != NULL)
		flow_read_by(x->down, NULL, NULL);
	x->up = x->down = NULL;
}
