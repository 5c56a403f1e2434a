/* SPDX-License-Identifier: BSD-2-Clause */
#include <gnutls/gnutls.h>
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
#include "http/front/refusal.h"

enum {
	/* Any line of today gives more. */
	LEAST_BYTES_PER_S = 512,
	/* What nobody wants is read, but not for hours. */
	LEAST_SWALLOWED_BYTES_PER_S = 32 * 1024,
	/* How long a body may be silent, and is not judged as a whole. */
	SILENCE_MS = 30 * 1000,
	/* Then it has so much time, however long it is. */
	WHOLE_S = 300,
};

/* As long as the client has nothing to do but to wait. */
#define NEVER INT64_MAX

/*
 * The timer fires then, or before: nearly every end is put off before it has
 * come, which moves no timer.
 */
static void
set_due(struct client_connection *c, int64_t at_ms)
{
	c->due_ms = at_ms;
	if (at_ms != NEVER &&
	    (!timer_is_set(&c->deadline) || c->deadline.at_ms > at_ms))
		timer_set_at(&c->deadline, at_ms);
}

/* By the loop's clock, which stands still in a turn. */
static int64_t
in_ms(const struct client_connection *c, int64_t ms)
{
	return loop_now_ms(c->front->loop) + ms;
}

/* --- the end --- */

/*
 * libmicrohttpd takes no answer in the middle of a request, but it has
 * nothing of its own to send then either.
 */
static void
say_too_late(struct client_connection *c)
{
	struct arena *arena = arena_new();
	struct span text = refusal_text(
	    arena, c->front->conf, PROBLEM_REQUEST_TIMEOUT, SPAN(""));
	if (c->session != NULL)
		(void)gnutls_record_send(c->session, text.ptr, text.len);
	else
		(void)send(c->fd, text.ptr, text.len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
	arena_free(&arena);
	c->x->shown.late = true;
}

static void
log_slow(const char *doing)
{
	struct logline line = log_begin(EV_client_slow);
	log_str(&line, "doing", doing);
	log_end(&line);
}

/* --- what has come on --- */

static bool
is_enough(uint64_t bytes, int64_t ms, int least_per_s)
{
	return bytes >= (uint64_t)(ms * least_per_s / 1000);
}

/* How often one that sends a body is looked at. */
static int64_t
body_look_ms(const struct client_connection *c)
{
	int64_t ms = c->front->conf->idle_timeout_ms;
	return ms < SILENCE_MS ? ms : SILENCE_MS;
}

/*
 * A body that is kept in memory may not be long in coming as a whole: behind a
 * first look without this, so much a second that all of it takes WHOLE_S.
 */
static bool
body_comes_whole(const struct client_connection *c)
{
	const struct mhd_exchange *x = c->x;
	int64_t ms =
	    loop_now_ms(c->front->loop) - c->since_ms - body_look_ms(c);
	return x->doing != EXCHANGE_READING || ms <= 0 ||
	    x->shown.body_bytes * WHOLE_S * 1000 >=
		x->read_limit * (uint64_t)ms;
}

static bool
body_has_come_on(struct client_connection *c)
{
	const struct mhd_exchange *x = c->x;
	bool wanted = x->doing == EXCHANGE_READING || x->up != NULL;
	/* While it is held, it is we who take nothing. */
	return c->was_held ||
	    (is_enough(x->shown.body_bytes - c->seen, body_look_ms(c),
		 wanted ? LEAST_BYTES_PER_S : LEAST_SWALLOWED_BYTES_PER_S) &&
		body_comes_whole(c));
}

/* What the client's machine has told us that it has; 0: nobody knows. */
static uint64_t
bytes_acked(const struct client_connection *c)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof info;
	if (getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
		return 0;
	return info.tcpi_bytes_acked;
}

/* What it has not; over a Unix socket, what the client has not read. */
static uint64_t
bytes_waiting(const struct client_connection *c)
{
	int waiting = 0;
	return ioctl(c->fd, SIOCOUTQ, &waiting) == 0 ? (uint64_t)waiting : 0;
}

/* Measured from the second look on: most answers are out before the first. */
static bool
answer_has_come_on(struct client_connection *c)
{
	uint64_t waiting = bytes_waiting(c);
	uint64_t acked = bytes_acked(c);
	bool first = c->waiting == 0;
	bool enough = acked > 0
	    ? is_enough(acked - c->seen, c->front->conf->idle_timeout_ms,
		  LEAST_BYTES_PER_S)
	    : waiting != c->waiting;
	c->waiting = waiting;
	c->seen = acked;
	return waiting == 0 || first || enough;
}

static void
watch_body(struct client_connection *c)
{
	set_due(c, in_ms(c, body_look_ms(c)));
	c->seen = c->x->shown.body_bytes;
	c->was_held = c->x->suspended;
}

/* Whether the client has done enough meanwhile to be given more time. */
static bool
has_come_on(struct client_connection *c)
{
	if (c->doing == DOING_BODY && body_has_come_on(c)) {
		watch_body(c);
		return true;
	}
	if (c->doing != DOING_ANSWER || !answer_has_come_on(c))
		return false;
	set_due(c, in_ms(c, c->front->conf->idle_timeout_ms));
	return true;
}

const char *
deadline_doing(const struct client_connection *c)
{
	static const char *const words[] = {
	    [DOING_NOTHING] = "nothing",
	    [DOING_HEAD] = "sending the head",
	    [DOING_BODY] = "sending the body",
	    [DOING_ANSWER] = "reading the answer",
	};
	return words[c->doing];
}

static void
on_time_over(void *arg)
{
	struct client_connection *c = arg;
	/* Even if it is over by now: only its own timer has let it be read. */
	if (c->due_ms > c->deadline.at_ms) {
		set_due(c, c->due_ms);
		return;
	}
	if (has_come_on(c))
		return;
	if (c->doing != DOING_NOTHING)
		log_slow(deadline_doing(c));
	if (c->x != NULL && !c->x->queued && c->x->reply == NULL &&
	    c->x->early == NULL)
		say_too_late(c);
	client_connection_cut(c);
}

/* --- what the client has to do --- */

static void
begins(struct client_connection *c, enum doing doing)
{
	c->doing = doing;
	c->since_ms = in_ms(c, 0);
}

static void
begins_timed(struct client_connection *c, enum doing doing, int64_t timeout_ms)
{
	begins(c, doing);
	set_due(c, c->since_ms + timeout_ms);
}

void
deadline_init(struct client_connection *c)
{
	timer_init(&c->deadline, c->front->loop, on_time_over, c);
	begins_timed(c, DOING_HEAD, c->front->conf->header_timeout_ms);
}

void
deadline_head(struct client_connection *c, struct mhd_exchange *x)
{
	c->x = x;
	/* The first of a connection has had its time from the beginning. */
	if (c->doing != DOING_HEAD)
		begins_timed(c, DOING_HEAD, c->front->conf->header_timeout_ms);
}

void
deadline_body(struct client_connection *c)
{
	begins(c, DOING_BODY);
	watch_body(c);
}

void
deadline_none(struct client_connection *c)
{
	begins(c, DOING_NOTHING);
	set_due(c, NEVER);
}

void
deadline_answer(struct client_connection *c)
{
	begins_timed(c, DOING_ANSWER, c->front->conf->idle_timeout_ms);
	c->waiting = 0;
}

void
deadline_idle(struct client_connection *c)
{
	begins_timed(c, DOING_NOTHING, c->front->conf->idle_timeout_ms);
	c->x = NULL;
}

void
deadline_end(struct client_connection *c)
{
	timer_clear(&c->deadline);
}
