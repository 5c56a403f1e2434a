/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "replay/choice.h"
#include "replay/fakes.h"
#include "store/node.h"
#include "upstream/forward.h"
#include "upstream/upstreams.h"

/*
 * In place of src/upstream/forward.c and upstreams.c: an API that counts, for
 * each key, what it executed and what it may have executed, and tells the truth
 * when asked about it (reconcile).  The scheduler says what becomes of a
 * request; its time runs out as in the real one.
 */
struct upstreams {
	struct gateway *gateway;
	struct loop *loop;
	const struct conf *conf;
	struct budget *budget;
	unsigned pending;
};

struct transfer {
	struct transfer *next;
	struct upstreams *upstreams;
	struct forward *forward;
	struct message message;
	const int64_t *send_until_us;
	struct forwarded what;
};

static struct transfer *transfers; /* in the order in which they began */

struct upstreams *
upstreams_new(
    struct loop *loop, const struct conf *conf, struct budget *budget)
{
	struct upstreams *u = mem_zero(sizeof *u);
	u->gateway = loop_gateway(loop);
	u->loop = loop;
	u->conf = conf_ref(conf);
	u->budget = budget;
	return u;
}

void
upstreams_free(struct upstreams **upstreams)
{
	struct upstreams *u = *upstreams;
	*upstreams = NULL;
	if (u == NULL)
		return;
	must(u->pending == 0);
	conf_unref(&u->conf);
	free(u);
}

void
upstreams_measure(
    struct upstreams *upstreams, struct histogram *const *took)
{
	(void)upstreams;
	(void)took;
}

/* --- the truth --- */

/* The bytes have left: the upstream has executed it, or not. */
static void
sent(struct transfer *t, bool executed)
{
	struct truth *truth = t->what.truth;
	t->forward->sent_bytes = 100;
	if (t->what.question || t->what.heard)
		return;
	if (t->what.attempt == 0) {
		truth->unpromised++;
		return;
	}
	if (executed)
		truth->executed++;
	else
		truth->unsure++;
	truth->in_doubt++;
}

/* Sent, and nobody at the gateway will ever know. */
static void
sent_in_vain(struct transfer *t)
{
	sent(t, t->what.heard || t->what.question || choose(2) == 0);
}

/* Too late to be sent. */
static bool
is_late(const struct transfer *t)
{
	return !t->what.heard && t->send_until_us != NULL &&
	    world.now_us >= *t->send_until_us;
}

/* Nothing was sent: the next attempt may have its number. */
static void
forget_attempt(struct transfer *t)
{
	struct truth *truth = t->what.truth;
	if (t->what.attempt == 0 || t->forward->sent_bytes > 0 ||
	    t->upstreams->gateway->dead)
		return;
	truth->attempts &= ~((uint64_t)1 << t->what.attempt);
	truth->forwarded--;
}

static void
transfer_end(struct transfer *t)
{
	forget_attempt(t);
	struct transfer **at = &transfers;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	t->forward->transfer = NULL;
	t->upstreams->pending--;
	free(t);
}

static struct transfer *
transfer_get(unsigned index)
{
	struct transfer *t = transfers;
	while (index-- > 0)
		t = t->next;
	must(t != NULL);
	return t;
}

/* --- what the gateway calls --- */

/* The time is up, or it is cancelled: it may have been sent, or not. */
static void
on_detach(struct op *op, int error)
{
	struct forward *forward = CONTAINER_OF(op, struct forward, op);
	struct transfer *t = forward->transfer;
	(void)error;
	if (!t->upstreams->gateway->dead) {
		world.deeds++;
		if (t->what.heard || (!is_late(t) && choose(2) == 0))
			sent_in_vain(t);
	}
	forward->result = forward->sent_bytes > 0 ? FORWARD_TIMEOUT
						  : FORWARD_NOT_SENT;
	transfer_end(t);
}

/* Each attempt number is sent once for each key. */
static void
note_attempt(struct transfer *t, struct span value)
{
	struct truth *truth = t->what.truth;
	t->what.attempt = (unsigned)atoi(value.ptr);
	must(t->what.attempt > 0 && t->what.attempt < 64);
	uint64_t bit = (uint64_t)1 << t->what.attempt;
	CHECK(!(truth->attempts & bit), "attempt %u is sent twice",
	    t->what.attempt);
	truth->attempts |= bit;
	truth->forwarded++;
}

void
forward_start(struct upstreams *upstreams, struct forward *forward,
    const struct conf_upstream *upstream, const struct message *message,
    const struct forward_limits *limits)
{
	must(forward->transfer == NULL && forward->head == NULL);
	must(upstream == &upstreams->conf->upstreams[upstream->index]);
	must(!upstreams->gateway->dead);
	struct transfer *t = mem_zero(sizeof *t);
	struct span key = SPAN("");
	const struct fields *fields = &message->fields;
	const struct field *f;
	t->what.question = span_eq(message->method, SPAN("GET"));
	if (t->what.question)
		key = span_from(message->target, strlen("/by-key/"));
	else if ((f = fields_first(fields, SPAN("Idempotency-Key"))))
		key = f->value;
	f = fields_first(fields, SPAN("Authorization"));
	must(key.len > 0 && f != NULL);
	t->what.gateway = upstreams->gateway;
	t->what.truth = truth_of(f->value, key);
	f = fields_first(fields, SPAN("Idempotency-Attempt"));
	must(!t->what.question || f == NULL);
	if (f != NULL)
		note_attempt(t, f->value);
	t->upstreams = upstreams;
	t->forward = forward;
	t->message = *message;
	t->send_until_us = limits->send_until_us;
	struct transfer **end = &transfers;
	while (*end != NULL)
		end = &(*end)->next;
	*end = t;
	forward->transfer = t;
	forward->result = FORWARD_NOT_SENT;
	forward->sent_bytes = 0;
	forward->status = 0;
	forward->fields = (struct fields){0};
	forward->rest = NULL;
	forward->head_length = -1;
	body_init(&forward->body, upstreams->budget);
	upstreams->pending++;
	world.deeds++;
	op_start(&forward->op, upstream->timeout_ms, on_detach);
}

size_t
forward_sent_bytes(const struct forward *forward)
{
	return forward->sent_bytes;
}

void
forward_stop(struct forward *forward)
{
	op_cancel(&forward->op);
}

/* No answer here has a rest to come. */
void
forward_move(struct forward *to, struct forward *from)
{
	(void)to;
	(void)from;
	must(false);
}

void
forward_clear(struct forward *forward)
{
	must(forward->transfer == NULL);
	free(forward->head);
	forward->head = NULL;
	forward->fields = (struct fields){0};
	body_clear(&forward->body);
}

/* --- what becomes of it --- */

static void
finish(struct transfer *t, enum forward_result result, int error)
{
	struct forward *forward = t->forward;
	forward->result = result;
	transfer_end(t);
	op_done(&forward->op, error);
}

/* All in one piece, as the real one has it. */
static void
answer(struct transfer *t, int status)
{
	struct forward *forward = t->forward;
	const struct truth *truth = t->what.truth;
	forward->head = mem_printf("%s execution %u", truth->key,
	    truth->executed);
	struct span text = span_str(forward->head);
	struct field *fields = mem_zero(2 * sizeof *fields);
	char *head = mem_grow(forward->head,
	    text.len + 1 + 2 * sizeof *fields + sizeof(void *));
	size_t at = text.len + 1;
	at += sizeof(void *) - at % sizeof(void *);
	forward->head = head;
	text.ptr = head;
	fields[0] = (struct field){SPAN("Content-Type"), SPAN("text/plain")};
	fields[1] = (struct field){SPAN("X-Execution"), text};
	memcpy(head + at, fields, 2 * sizeof *fields);
	free(fields);
	forward->fields =
	    (struct fields){(struct field *)(void *)(head + at), 2};
	forward->status = status;
	must(body_append(&forward->body, text.ptr, text.len) == 0);
	static const char rest[LINE_LARGE_BYTES];
	if (world.scenario->large)
		must(body_append(&forward->body, rest, sizeof rest) == 0);
	finish(t, FORWARD_ANSWERED, 0);
}

/* The answer to a question is the truth, as the upstream had given it. */
static void
answer_question(struct transfer *t)
{
	answer(t, t->what.truth->executed > 0 ? 200 : 404);
}

static void
answer_request(struct transfer *t, enum doing doing)
{
	struct truth *truth = t->what.truth;
	if (doing == DOES_REFUSE) {
		t->forward->sent_bytes = 100;
		truth->refused += t->what.attempt > 0;
		answer(t, 503);
	} else if (doing == DOES_DOUBT) {
		sent_in_vain(t);
		answer(t, 504);
	} else {
		sent(t, true);
		if (t->what.attempt > 0) {
			truth->in_doubt--;
			truth->whole++;
		}
		answer(t, doing == DOES_FAIL ? 500 : 200);
	}
}

void
forwards_end(unsigned index, enum doing doing)
{
	struct transfer *t = transfer_get(index);
	/* It must have been there all the time. */
	struct span body = t->message.body;
	must(t->what.question || span_starts(body, SPAN("pay ")));
	world.deeds++;
	if (is_late(t)) {
		finish(t, FORWARD_NOT_SENT, E_LEASE_OVER);
		return;
	}
	switch (doing) {
	case DOES_HEAR:
		sent(t, true);
		t->what.heard = true;
		return;
	case DOES_NOT_HEAR:
		finish(t, FORWARD_NOT_SENT, E_UNREACHABLE);
		return;
	case DOES_BREAK:
		sent_in_vain(t);
		finish(t, FORWARD_BROKEN, E_CLOSED);
		return;
	case DOES_BABBLE:
		sent_in_vain(t);
		finish(t, FORWARD_MALFORMED, E_MALFORMED);
		return;
	case DOES_PAY:
	case DOES_FAIL:
	case DOES_REFUSE:
	case DOES_DOUBT:
		break;
	}
	if (t->what.question)
		answer_question(t);
	else
		answer_request(t, doing);
}

void
forwards_orphan(struct gateway *gateway)
{
	for (struct transfer *t = transfers; t != NULL; t = t->next)
		if (t->what.gateway == gateway && !t->what.heard &&
		    !is_late(t) && choose(2) == 0)
			sent_in_vain(t);
}

unsigned
forwards_count(void)
{
	unsigned count = 0;
	for (struct transfer *t = transfers; t != NULL; t = t->next)
		count++;
	return count;
}

const struct forwarded *
forwards_get(unsigned index)
{
	return &transfer_get(index)->what;
}

uint64_t
forwards_hash(void)
{
	uint64_t hash = 0;
	for (struct transfer *t = transfers; t != NULL; t = t->next) {
		hash = mix(hash, (uint64_t)(t->what.truth - world.truths));
		hash = mix(hash, t->what.attempt);
		hash = mix(hash, (uint64_t)t->what.question << 1 |
		    t->what.heard);
		hash = mix(hash, t->what.gateway->index);
	}
	return hash;
}
