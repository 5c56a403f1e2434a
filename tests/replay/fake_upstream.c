/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/must.h"
#include "gate/execution.h"
#include "http/upstream/forward.h"
#include "http/upstream/target_health.h"
#include "http/upstream/upstreams.h"
#include "replay/choice.h"
#include "replay/fakes.h"
#include "replay/messages.h"
#include "store/store.h"

/*
 * In place of src/http/upstream/forward.c and upstreams.c: an API that counts,
 * for each key, what it executed and what it may have executed, and tells the
 * truth when asked about it (reconcile).  The scheduler says what becomes of a
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
	struct timer lease_end; /* of one that is half sent */
	int status; /* of the answer that has come */
	struct forwarded what;
};

static struct transfer *transfers; /* in the order in which they began */

/* What has an attempt's number was claimed. */
static const struct execution *
execution_of(const struct transfer *t)
{
	return CONTAINER_OF(t->forward, struct execution, forward);
}

struct upstreams *
upstreams_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, const struct conf_upstream *list, size_t count)
{
	(void)count;
	must(list == conf->upstreams);
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
upstreams_measure(struct upstreams *upstreams,
    struct histogram *const *took, struct counter *connections)
{
	(void)upstreams;
	(void)took;
	(void)connections;
}

void
upstreams_show(struct upstreams *upstreams, size_t upstream, size_t target,
    struct counter *up)
{
	(void)upstreams;
	(void)upstream;
	(void)target;
	(void)up;
}

struct target_health *
target_health_new(struct loop *loop, const struct conf *conf,
    struct budget *budget, struct upstreams *upstreams)
{
	(void)loop;
	(void)conf;
	(void)budget;
	(void)upstreams;
	return NULL;
}

void
target_health_free(struct target_health **health)
{
	*health = NULL;
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
	if (executed && fake_witness_is_asked() &&
	    !fake_witness_commit(truth, t->what.attempt))
		executed = false;
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
	bool is_new = !t->what.question && !t->what.heard;
	if (is_new && fake_witness_is_asked() && choose(2) == 1) {
		/* The API is still at it. */
		t->what.truth->rows_open |= (uint64_t)1 << t->what.attempt;
		sent(t, false);
		return;
	}
	sent(t, t->what.heard || t->what.question || choose(2) == 0);
}

/* Too late to be sent, all of it or the rest. */
static bool
is_late(const struct transfer *t)
{
	return !t->what.heard && !t->what.answered &&
	    t->send_until_us != NULL && world.now_us >= *t->send_until_us;
}

/* A reset, or what is to be read no more: nobody at the gateway will know. */
static void
left_in_doubt(struct transfer *t)
{
	if (!t->what.question && t->what.attempt > 0)
		t->what.truth->in_doubt++;
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

/* Anything but an answer that it did not happen: its record may say so. */
static bool
is_done(const struct transfer *t)
{
	bool released =
	    t->what.answered && (t->status == 503 || t->status == 401);
	return t->what.attempt > 0 && !released;
}

static void
transfer_end(struct transfer *t)
{
	forget_attempt(t);
	if (is_done(t))
		messages_done(t->what.gateway, t->what.truth);
	struct transfer **at = &transfers;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	timer_clear(&t->lease_end);
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

static void give_up_unread(struct transfer *t);
static void cut(struct transfer *t);

/* The time is up, or it is cancelled: it may have been sent, or not. */
static void
on_detach(struct op *op, int error)
{
	struct forward *forward = CONTAINER_OF(op, struct forward, op);
	struct transfer *t = forward->transfer;
	if (!t->upstreams->gateway->dead) {
		world.deeds++;
		if (t->what.answered && error == E_TIMEOUT) {
			give_up_unread(t);
			return;
		}
		if (t->what.answered || t->what.half)
			left_in_doubt(t);
		else if (t->what.heard || (!is_late(t) && choose(2) == 0))
			sent_in_vain(t);
	}
	forward->result = forward->sent_bytes > 0 ? FORWARD_TIMEOUT
						  : FORWARD_NOT_SENT;
	transfer_end(t);
}

/* The rest of it is not sent after the lease. */
static void
on_lease_end(void *arg)
{
	struct transfer *t = arg;
	int64_t left_us = *t->send_until_us - world.now_us;
	if (left_us > 0)
		timer_set(&t->lease_end, (left_us + 999) / 1000);
	else
		cut(t);
}

static bool
is_for_message(const struct transfer *t)
{
	return execution_of(t)->counts != COUNTS_BY_ANSWER;
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
	if (!t->what.question)
		messages_check_order(t->what.truth);
	if (t->what.attempt > 0 && is_for_message(t))
		messages_check_sent(t->what.gateway, t->what.truth,
		    execution_of(t)->counts == COUNTS_ALWAYS);
	t->message = *message;
	t->send_until_us = limits->send_until_us;
	timer_init(&t->lease_end, upstreams->loop, on_lease_end, t);
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
	forward->body = (struct body){.budget = upstreams->budget};
	upstreams->pending++;
	world.deeds++;
	op_start(&forward->op, upstream->timeout_ms, on_detach);
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

static void
cut(struct transfer *t)
{
	left_in_doubt(t);
	finish(t, FORWARD_BROKEN, E_LEASE_CUT);
}

/* All in one piece, as the real one has it; the answer's text in there. */
static struct span
write_head(struct transfer *t)
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
	forward->status = t->status;
	return text;
}

/* An answer that says that it did not happen. */
static void
note_refusal(const struct transfer *t)
{
	struct truth *truth = t->what.truth;
	if (t->what.question || t->what.attempt == 0)
		return;
	if (t->status != 503 && t->status != 401)
		return;
	enum counts counts = execution_of(t)->counts;
	bool by_answer = counts == COUNTS_BY_ANSWER;
	/* What is forgotten is not counted, and its number may come again. */
	if (t->status == 401 && t->what.attempt == 1 && by_answer) {
		truth->attempts &= ~(uint64_t)2;
		return;
	}
	truth->refused++;
	truth->spared += counts == COUNTS_NEVER ||
	    (t->status == 401 && by_answer);
}

/* The time is up while it waits for memory. */
static void
give_up_unread(struct transfer *t)
{
	(void)write_head(t);
	note_refusal(t);
	finish(t, FORWARD_UNREAD, E_NO_MEMORY);
}

/* False: there is no memory for it. */
static bool
read_answer(struct transfer *t)
{
	struct truth *truth = t->what.truth;
	bool stored = t->status == 200 || t->status == 500;
	if (world.memory_short || t->upstreams->gateway->stalled)
		return false;
	struct span text = write_head(t);
	static const char rest[STORE_LARGE_BYTES];
	must(body_append(&t->forward->body, text.ptr, text.len) == 0);
	if (world.scenario->large)
		must(body_append(&t->forward->body, rest, sizeof rest) == 0);
	note_refusal(t);
	if (stored && !t->what.question && t->what.attempt > 0) {
		truth->in_doubt--;
		truth->whole++;
	}
	finish(t, FORWARD_ANSWERED, 0);
	return true;
}

static void
answer(struct transfer *t, int status)
{
	t->what.answered = true;
	t->status = status;
	t->forward->sent_bytes = 100;
	(void)read_answer(t);
}

bool
forwards_read(void)
{
	struct transfer *next;
	bool any = false;
	for (struct transfer *t = transfers; t != NULL; t = next) {
		next = t->next;
		if (t->what.answered && !t->upstreams->gateway->dead)
			any |= read_answer(t);
	}
	return any;
}

/* The answer to a question is the truth, as the upstream had given it. */
static void
answer_question(struct transfer *t)
{
	answer(t, t->what.truth->executed > 0 ? 200 : 404);
}

/* The payment's transaction fails. */
static bool
was_revoked(const struct transfer *t)
{
	return !t->what.heard &&
	    (t->what.truth->rows_revoked & (uint64_t)1 << t->what.attempt) != 0;
}

static void
answer_request(struct transfer *t, enum doing doing)
{
	if (doing == DOES_REFUSE) {
		answer(t, 503);
	} else if (doing == DOES_FORGET) {
		answer(t, 401);
	} else if (doing == DOES_DOUBT) {
		sent_in_vain(t);
		answer(t, 504);
	} else if (was_revoked(t)) {
		answer(t, 503);
	} else {
		sent(t, true);
		answer(t, doing == DOES_FAIL ? 500 : 200);
	}
}

void
forwards_end(unsigned index, enum doing doing)
{
	struct transfer *t = transfer_get(index);
	/* It must have been there all the time. */
	struct span body = t->message.body;
	must(t->what.question || span_starts(body, SPAN("pay ")) ||
	    span_starts(body, SPAN("{")));
	world.deeds++;
	if (is_late(t) && t->what.half) {
		cut(t);
		return;
	}
	if (is_late(t)) {
		finish(t, FORWARD_NOT_SENT, E_LEASE_OVER);
		return;
	}
	t->what.half = false;
	timer_clear(&t->lease_end);
	switch (doing) {
	case DOES_TAKE:
		t->forward->sent_bytes = 50;
		t->what.half = true;
		if (t->send_until_us != NULL)
			on_lease_end(t);
		return;
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
	case DOES_FORGET:
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
		    !t->what.answered && !t->what.half && !is_late(t) &&
		    choose(2) == 0)
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
	struct transfer *t = transfer_get(index);
	t->what.late = is_late(t);
	return &t->what;
}

uint64_t
forwards_hash(void)
{
	uint64_t hash = 0;
	for (struct transfer *t = transfers; t != NULL; t = t->next) {
		hash = mix(hash, (uint64_t)(t->what.truth - world.truths));
		hash = mix(hash, t->what.attempt);
		hash = mix(hash, (uint64_t)t->status << 4 |
		    (uint64_t)t->what.answered << 3 |
		    (uint64_t)t->what.half << 2 |
		    (uint64_t)t->what.question << 1 | t->what.heard);
		hash = mix(hash, t->what.gateway->index);
	}
	return hash;
}
