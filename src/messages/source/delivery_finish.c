/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/loop/log.h"
#include "base/utf8.h"
#include "messages/source/delivery_private.h"
#include "messages/source/message_text.h"
#include "messages/source/source_credit.h"
#include "messages/source/source_standing.h"

/*
 * The end of a message: it is acknowledged, and what becomes of it, a result or
 * a dead letter, is put in the same step of its broker.
 */
enum { FIELDS_OURS = 12 };

/* --- what is put --- */

static void
add_text(struct fields *fields, const char *name, struct span value)
{
	fields->list[fields->count++] =
	    (struct field){span_str(name), value};
}

static struct span
number_text(struct arena *arena, int64_t number)
{
	char text[DIGITS_MAX];
	return arena_dup(arena, span_of(text, digits_put(text, number)));
}

static struct fields
list_of(struct delivery *d, size_t more)
{
	size_t bytes = (more + FIELDS_OURS) * sizeof(struct field);
	return (struct fields){arena_alloc(d->put_arena, bytes), 0};
}

/* Where it is from, and what is known of its key. */
static void
add_origin(struct delivery *d, struct fields *fields)
{
	struct arena *arena = d->put_arena;
	const struct claimant *c = &d->c;
	if (c->arena != NULL && c->key_hex[0] != '\0')
		add_text(fields, "onceproxy-key-id",
		    arena_dup(arena, span_str(c->key_hex)));
	if (c->arena != NULL && c->attempt > 0)
		add_text(fields, "onceproxy-attempt",
		    number_text(arena, c->attempt));
	add_text(fields, "onceproxy-source", span_str(d->source->source->name));
	add_text(fields, "onceproxy-position", d->message->position);
}

/* A record that is FAILED has none: its attempts were released. */
static int
status_of(const struct delivery *d)
{
	if (d->c.arena == NULL)
		return 0;
	if (d->buried && d->reason == MESSAGE_EXHAUSTED)
		return d->met;
	return d->c.answer != NULL ? d->c.answer->status
				   : d->c.original_status;
}

static void
add_status(struct delivery *d, struct fields *fields)
{
	int status = status_of(d);
	if (status != 0)
		add_text(fields, "onceproxy-status",
		    number_text(d->put_arena, status));
}

/* The answer that a dead letter was refused with. */
static void
add_answer(struct delivery *d, struct fields *fields)
{
	const struct answer *answer =
	    d->c.arena != NULL ? d->c.answer : NULL;
	if (answer == NULL || answer->not_kept ||
	    d->reason != MESSAGE_REFUSED)
		return;
	struct arena *arena = d->put_arena;
	struct span body = body_span(&answer->body);
	if (utf8_is_valid(body)) {
		add_text(fields, "onceproxy-answer", arena_dup(arena, body));
		return;
	}
	char *text = base64_encode(body);
	add_text(fields, "onceproxy-answer-base64",
	    arena_dup(arena, span_str(text)));
	free(text);
}

/* For people, who look for it by that; of one that was parked, as it was. */
static void
add_label(struct delivery *d, struct fields *fields)
{
	struct span label = d->c.arena != NULL && d->c.label.len > 0
	    ? d->c.label
	    : d->label;
	if (label.len == 0)
		label = d->letter.label;
	if (label.len > 0)
		add_text(fields, "onceproxy-label",
		    arena_dup(d->put_arena, label));
}

/* The message as it was, and why it is here. */
static void
put_dead_letter(struct delivery *d)
{
	const struct broker_message *m = d->message;
	struct fields fields = list_of(d, m->fields.count);
	for (size_t i = 0; i < m->fields.count; i++)
		if (!letter_is_ours(m->fields.list[i].name))
			fields.list[fields.count++] = m->fields.list[i];
	size_t n_kept = fields.count;
	add_text(&fields, "onceproxy-reason",
	    span_str(source_meter_outcome(d->reason)));
	add_status(d, &fields);
	add_origin(d, &fields);
	add_text(&fields, "onceproxy-first",
	    d->letter.first.len > 0
		? d->letter.first
		: message_text_time(d->put_arena, d->first_ms));
	if (d->detail.len > 0)
		add_text(&fields, "onceproxy-detail", d->detail);
	add_label(d, &fields);
	add_answer(d, &fields);
	d->put = (struct broker_put){
	    .place = BROKER_DEAD_LETTERS,
	    .fields = fields,
	    .has_body = m->has_payload,
	    .body = m->payload,
	    .key = m->key,
	    .entity = m->entity,
	    .type = m->type,
	    .whole = m->too_large,
	    .n_kept = n_kept,
	};
}

/*
 * Whether there may be a result of its key already: its record was COMPLETED
 * before, and not by this very message, of which nothing was put yet.
 */
static bool
is_repeated(const struct delivery *d)
{
	const struct answer *answer = d->c.answer;
	return d->outcome == MESSAGE_DUPLICATE &&
	    (!d->message->unput || answer == NULL ||
		!span_eq(answer->request_id, d->c.id));
}

static void
put_result(struct delivery *d)
{
	const struct answer *answer = d->c.answer;
	struct fields fields = list_of(d, 1);
	const struct field *type = answer != NULL && !answer->not_kept
	    ? fields_first(&answer->fields, SPAN("Content-Type"))
	    : NULL;
	if (type != NULL)
		add_text(&fields, "content-type", type->value);
	add_status(d, &fields);
	add_origin(d, &fields);
	if (is_repeated(d))
		add_text(&fields, "onceproxy-duplicate", SPAN("true"));
	d->put = (struct broker_put){
	    .place = BROKER_RESULTS,
	    .fields = fields,
	    .has_body = answer != NULL && !answer->not_kept,
	    .body = answer != NULL ? body_span(&answer->body) : SPAN(""),
	    .key = d->message->key,
	    .entity = d->message->entity,
	    .type = d->message->type,
	    .status = status_of(d),
	    .key_id = span_str(d->c.key_hex),
	};
}

/* --- how it ends --- */

/* The upstream refused it, and that is stored. */
enum after
delivery_finish_refused(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->source->source->refused_ack)
		return delivery_to(d, DELIVERY_FINISH, MORE);
	if (d->asked != NULL)
		return delivery_letter_refuse(d, "refused");
	d->reason = MESSAGE_REFUSED;
	d->buried = true;
	return delivery_to(d, DELIVERY_BURY, MORE);
}

enum after
delivery_finish_bury(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (!d->buried)
		d->reason = d->outcome;
	if (d->asked != NULL)
		return delivery_letter_refuse(
		    d, source_meter_outcome(d->reason));
	d->buried = true;
	return delivery_to(d,
	    d->reason == MESSAGE_BEHIND ? DELIVERY_FINISH : DELIVERY_PARK,
	    MORE);
}

/* Executed, or known to be: there is a result, where the source has any. */
static bool
has_result(const struct delivery *d)
{
	return d->source->source->results != NULL &&
	    (d->outcome == MESSAGE_EXECUTED ||
		d->outcome == MESSAGE_DUPLICATE ||
		d->outcome == MESSAGE_REFUSED);
}

enum after
delivery_finish(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	if (d->parked && !d->buried && !d->decided)
		return delivery_to(d, DELIVERY_DECIDE, MORE);
	/* It is decided: what becomes of its key is nothing to it any more. */
	key_waiters_leave(&d->waiter);
	d->put.place = BROKER_NOWHERE;
	/* What is tried again is made again, of what is known then. */
	arena_free(&d->put_arena);
	d->put_arena = arena_new();
	if (d->buried)
		put_dead_letter(d);
	else if (has_result(d))
		put_result(d);
	d->finish.position = d->message->position;
	d->finish.letter = d->message->letter;
	d->finish.token = d->message->token;
	d->finish.put = d->put.place == BROKER_NOWHERE ? NULL : &d->put;
	d->finish.fault = BROKER_FAULT_PLACE;
	source_credit_finish(d->source, d,
	    d->finish.put != NULL &&
		d->source->source->broker->kind == BROKER_KAFKA);
	broker_reader_finish(d->source->reader, &d->finish);
	return delivery_to(d, DELIVERY_FINISHED, WAIT);
}

/* Whose fault it is; a dead letter that is dropped is where those are. */
static enum standing
standing_of(const struct delivery *d)
{
	if (d->finish.op.error != E_BROKER_REFUSED ||
	    d->finish.fault == BROKER_FAULT_SOURCE)
		return STANDING_BROKER;
	if (d->finish.put == NULL)
		return delivery_is_letter(d) ? STANDING_DEAD_LETTERS
					     : STANDING_BROKER;
	return d->buried ? STANDING_DEAD_LETTERS : STANDING_RESULTS;
}

/* The broker is away, or takes no more of these: no message is to blame. */
static enum after
not_taken(struct delivery *d)
{
	bool refused = d->finish.op.error == E_BROKER_REFUSED;
	enum standing standing = standing_of(d);
	/* Whoever knows why the broker is away has said so already. */
	if (refused || (d->source->standing & 1u << standing) == 0)
		source_standing_begin(d->source, standing,
		    refused ? d->finish.refused
			    : error_message(d->finish.op.error));
	/* It may try while its source stands, so it has a time for that. */
	return delivery_to(
	    d, d->rejected ? DELIVERY_YIELD : DELIVERY_STAND, MORE);
}

enum after
delivery_finish_answered(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	source_credit_finish(d->source, d, false);
	if (d->finish.op.error == E_BROKER_REFUSED &&
	    d->finish.fault >= BROKER_FAULT_MESSAGE)
		return delivery_rest_rejected(d);
	if (d->finish.op.error != 0)
		return not_taken(d);
	if (d->finish.finished == BROKER_FINISHED)
		source_standing_finished(d->source);
	else
		source_standing_end(d->source, STANDING_BROKER);
	if (d->finish.finished == BROKER_ELSEWHERE)
		return DONE;
	if (d->finish.finished == BROKER_LOCKED)
		return delivery_to(d, DELIVERY_YIELD, MORE);
	if (d->finish.put != NULL && d->finish.finished == BROKER_FINISHED)
		source_standing_end(d->source,
		    d->buried ? STANDING_DEAD_LETTERS : STANDING_RESULTS);
	return delivery_to(d, DELIVERY_END, MORE);
}

/* --- its line in the log --- */

static void
log_message(const struct delivery *d, int64_t took_us)
{
	bool wanted = d->source->conf->log_access && log_wants(EV_message);
	if (!wanted && !d->buried)
		return;
	struct logline line = d->buried ? log_begin_warning(EV_message)
					: log_begin(EV_message);
	log_str(&line, "source", d->source->source->name);
	log_cut(&line, "position", d->message->position, 256);
	log_str(&line, "outcome", source_meter_outcome(d->outcome));
	if (d->buried)
		log_str(&line, "reason", source_meter_outcome(d->reason));
	if (d->finish.finished == BROKER_NOT_PENDING)
		log_bool(&line, "elsewhere", true);
	if (d->c.arena != NULL && d->c.route != NULL)
		log_str(&line, "route", d->c.route->name);
	if (d->c.arena != NULL && d->c.label.len > 0)
		log_span(&line, "label", d->c.label);
	if (status_of(d) != 0)
		log_int(&line, "status", status_of(d));
	bool shaped = d->c.arena != NULL;
	uint32_t attempt = shaped ? d->c.attempt : d->attempt;
	const char *key_hex = shaped ? d->c.key_hex : d->key_hex;
	if (attempt > 0)
		log_int(&line, "attempt", attempt);
	if (key_hex[0] != '\0')
		log_str(&line, "key_id", key_hex);
	if (d->detail.len > 0)
		log_cut(&line, "detail", d->detail, 256);
	if (d->message->letter.len > 0)
		log_bool(&line, "replayed", !d->drop);
	log_ms(&line, "total_ms", took_us);
	log_end(&line);
}

enum after
delivery_finish_end(struct machine *machine)
{
	struct delivery *d = delivery_of(machine);
	struct source_meter *meter = d->source->meter;
	int64_t took_us = clock_us() - d->began_us;
	delivery_count(d, d->outcome);
	histogram_add(&meter->seconds, took_us);
	if (d->finish.finished == BROKER_FINISHED && d->buried)
		counter_add(&meter->dead_letters[d->reason], 1);
	else if (d->finish.finished == BROKER_FINISHED &&
	    d->finish.put != NULL)
		counter_add(&meter->results, 1);
	if (d->buried || delivery_is_letter(d))
		source_dead_changed(d->source);
	log_message(d, took_us);
	if (d->finish.finished == BROKER_FINISHED)
		delivery_rest_held_no_more(d);
	delivery_letter_over(d);
	return DONE;
}
