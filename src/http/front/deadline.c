/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/loop/log.h"
#include "http/front/client_connection_private.h"
#include "http/front/deadline_private.h"
#include "http/front/exchange_private.h"
#include "http/front/front_private.h"

enum {
	/* Any line of today gives more. */
	LEAST_BYTES_PER_S = 512,
	/* How long a body may be silent, and is not judged as a whole. */
	SILENCE_MS = 30 * 1000,
	/* Then it has so much time, however long it is. */
	WHOLE_S = 300,
};

/*
 * The timer fires then, or before: nearly every end is put off before it has
 * come, which moves no timer.  By the loop's clock, which stands still in a
 * turn.
 */
static void
set_due(struct client_connection *c, int64_t ms)
{
	c->due_ms = loop_now_ms(c->front->loop) + ms;
	timer_set_by(&c->deadline, c->due_ms);
}

/* --- what has come on --- */

/* How often one that sends a body is looked at. */
static int64_t
body_look_ms(const struct client_connection *c)
{
	int64_t ms = c->front->conf->idle_timeout_ms;
	return ms < SILENCE_MS ? ms : SILENCE_MS;
}

/*
 * By what the client's machine has told us that it has, where anybody knows,
 * and by what it has not; over a Unix socket, by what the client has not read.
 * Measured from the second look on: most answers are out before the first.
 */
static bool
answer_has_come_on(struct client_connection *c)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;
	int queued = 0;
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		info.tcpi_bytes_acked = 0;
	if (ioctl(c->fd, SIOCOUTQ, &queued) != 0)
		queued = 0;
	uint64_t waiting = (uint64_t)queued, acked = info.tcpi_bytes_acked;
	int64_t least =
	    c->front->conf->idle_timeout_ms * LEAST_BYTES_PER_S / 1000;
	bool first = c->waiting == 0;
	bool enough = acked > 0 ? acked - c->seen >= (uint64_t)least
				: waiting != c->waiting;
	c->waiting = waiting;
	c->seen = acked;
	return waiting == 0 || first || enough;
}

static void
watch_body(struct client_connection *c)
{
	set_due(c, body_look_ms(c));
	c->seen = c->x->shown.body_bytes;
	c->was_held = !c->x->reads;
}

/* Whether the client has done enough meanwhile to be given more time. */
static bool
has_come_on(struct client_connection *c)
{
	if (c->doing == DOING_ANSWER && answer_has_come_on(c)) {
		set_due(c, c->front->conf->idle_timeout_ms);
		return true;
	}
	if (c->doing != DOING_BODY)
		return false;
	/*
	 * One that is kept in memory may not be long in coming as a whole:
	 * behind a first look without this, so much a second that all of it
	 * takes WHOLE_S.
	 */
	const struct mhd_exchange *x = c->x;
	const int64_t look_ms = body_look_ms(c);
	int64_t least = look_ms * LEAST_BYTES_PER_S / 1000;
	int64_t ms = loop_now_ms(c->front->loop) - c->since_ms - look_ms;
	bool whole = x->doing != EXCHANGE_READING || ms <= 0 ||
	    x->shown.body_bytes * WHOLE_S * 1000 >=
		x->read_limit * (uint64_t)ms;
	bool enough =
	    whole && x->shown.body_bytes - c->seen >= (uint64_t)least;
	/* It may be we who take nothing. */
	if (!enough && !c->was_held && x->reads)
		return false;
	watch_body(c);
	return true;
}

static void
on_time_over(void *arg)
{
	static const char *const words[] = {
	    [DOING_HEAD] = "sending the head",
	    [DOING_BODY] = "sending the body",
	    [DOING_ANSWER] = "reading the answer",
	};
	struct client_connection *c = arg;
	/* Even if it is over by now: only its own timer has let it be read. */
	if (c->due_ms > c->deadline.at_ms) {
		if (c->due_ms != INT64_MAX)
			timer_set_at(&c->deadline, c->due_ms);
		return;
	}
	if (has_come_on(c))
		return;
	if (c->doing != DOING_IDLE)
		log_event_str(EV_client_slow, "doing", words[c->doing]);
	c->late(c);
}

/* --- what the client has to do --- */

void
deadline_begin(struct client_connection *c, enum doing doing)
{
	const struct conf *conf = c->front->conf;
	c->doing = doing;
	c->since_ms = loop_now_ms(c->front->loop);
	if (doing == DOING_NOTHING) {
		c->due_ms = INT64_MAX;
	} else if (doing == DOING_HEAD) {
		set_due(c, conf->header_timeout_ms);
	} else if (doing == DOING_BODY) {
		watch_body(c);
		c->was_held = false;
	} else {
		set_due(c, conf->idle_timeout_ms);
		c->waiting = 0;
	}
}

void
deadline_init(struct client_connection *c,
    void (*late)(struct client_connection *c))
{
	c->late = late;
	timer_init(&c->deadline, c->front->loop, on_time_over, c);
	deadline_begin(c, DOING_HEAD);
}
