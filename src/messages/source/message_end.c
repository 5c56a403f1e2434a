/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/loop/log.h"
#include "base/utf8.h"
#include "messages/source/message_end.h"
#include "messages/source/message_text.h"

enum { FIELDS_OURS = 14 };

static void
add_text(struct fields *fields, const char *name, struct span value)
{
	if (value.len > 0)
		fields->list[fields->count++] =
		    (struct field){span_str(name), value};
}

static void
add_number(struct arena *arena, struct fields *fields, const char *name,
    int64_t number)
{
	char text[DIGITS_MAX];
	if (number != 0)
		add_text(fields, name,
		    arena_dup(
			arena, span_of(text, digits_put(text, number))));
}

/* --- a result --- */

void
message_end_result(
    struct arena *arena, const struct delivery *d, struct broker_put *ret_put)
{
	static const char *const of_body[] = {
	    "content-type", "content-encoding", NULL};
	const struct answer *answer = d->c.answer;
	const struct broker_message *m = d->message;
	bool is_kept = answer != NULL && !answer->not_kept;
	if (d->source->source->results == NULL ||
	    (d->outcome != MESSAGE_EXECUTED &&
		d->outcome != MESSAGE_DUPLICATE &&
		d->outcome != MESSAGE_REFUSED))
		return;
	struct span key_id = arena_dup(arena, span_str(d->key_hex));
	struct fields fields = {
	    arena_alloc(arena, FIELDS_OURS * sizeof(struct field)), 0};
	for (const char *const *name = of_body; is_kept && *name; name++) {
		const struct field *field =
		    fields_first(&answer->fields, span_str(*name));
		if (field != NULL)
			add_text(&fields, *name, field->value);
	}
	add_number(arena, &fields, "onceproxy-status", delivery_status(d));
	add_text(&fields, "onceproxy-key-id", key_id);
	add_number(arena, &fields, "onceproxy-attempt", d->attempt);
	add_text(&fields, "onceproxy-source",
	    span_str(d->source->source->name));
	add_text(&fields, "onceproxy-position", m->position);
	/*
	 * There may be a result of its key already, as its record was COMPLETED
	 * before, and not by this very message; or by it, and its group was set
	 * back.
	 */
	if (d->outcome == MESSAGE_DUPLICATE &&
	    (m->may_be_put || answer == NULL ||
		!span_eq(answer->request_id, d->c.id)))
		add_text(&fields, "onceproxy-duplicate", SPAN("true"));
	*ret_put = (struct broker_put){
	    .place = BROKER_RESULTS,
	    .fields = fields,
	    .has_body = is_kept,
	    .body = is_kept ? body_span(&answer->body) : SPAN(""),
	    .key = m->key,
	    .entity = m->entity,
	    .type = m->type,
	    .status = delivery_status(d),
	    .key_id = key_id,
	};
}

/* --- a letter --- */

struct letter
message_end_letter_of(const struct broker_message *m)
{
	return (struct letter){
	    .position = m->position,
	    .route = SPAN(""),
	    .has_payload = m->has_payload,
	    .is_cut = m->too_large,
	    .fields = m->fields,
	    .payload = m->payload,
	    .key = m->key,
	    .entity = m->entity,
	    .type = m->type,
	    .part = m->part,
	    .time_ms = m->time_ms,
	    .answer = span_of(NULL, 0),
	};
}

void
message_end_letter(const struct delivery *d, struct letter *ret_letter)
{
	const struct answer *answer = d->c.arena != NULL ? d->c.answer : NULL;
	*ret_letter = message_end_letter_of(d->message);
	ret_letter->name = delivery_letter_name(d);
	ret_letter->reason = span_str(source_meter_outcomes[d->reason]);
	ret_letter->key_id = span_str(d->key_hex);
	if (d->route != NULL)
		ret_letter->route = span_str(d->route);
	ret_letter->detail = d->detail;
	ret_letter->label = d->label;
	ret_letter->status = delivery_status(d);
	ret_letter->attempt = d->attempt;
	ret_letter->first_ms = d->first_ms;
	if (answer != NULL && !answer->not_kept &&
	    d->reason == MESSAGE_REFUSED)
		ret_letter->answer = body_span(&answer->body);
}

/* The answer that it was refused with. */
static void
add_answer(struct arena *arena, struct fields *fields, struct span body)
{
	if (body.ptr == NULL)
		return;
	if (utf8_is_valid(body)) {
		fields->list[fields->count++] =
		    (struct field){SPAN("onceproxy-answer"), body};
		return;
	}
	char *text = base64_encode(body);
	add_text(fields, "onceproxy-answer-base64",
	    arena_dup(arena, span_str(text)));
	free(text);
}

void
message_end_copy(
    struct arena *arena, const struct delivery *d, struct broker_put *ret_put)
{
	const struct broker_message *m = d->message;
	const struct letter *letter = &d->letter;
	struct fields fields = {arena_alloc(arena,
		(m->fields.count + FIELDS_OURS) * sizeof(struct field)), 0};
	for (size_t i = 0; i < m->fields.count; i++) {
		struct span name = m->fields.list[i].name;
		/* Not those of the gateway, of an earlier copy perhaps. */
		if (name.len < 10 ||
		    !field_names_meet(
			span_of(name.ptr, 10), SPAN("onceproxy-")))
			fields.list[fields.count++] = m->fields.list[i];
	}
	size_t n_kept = fields.count;
	add_text(&fields, "onceproxy-reason", letter->reason);
	add_number(arena, &fields, "onceproxy-status", letter->status);
	add_text(&fields, "onceproxy-key-id", letter->key_id);
	add_number(arena, &fields, "onceproxy-attempt", letter->attempt);
	add_text(&fields, "onceproxy-source",
	    span_str(d->source->source->name));
	add_text(&fields, "onceproxy-position", letter->position);
	add_text(&fields, "onceproxy-first",
	    message_text_time(arena, letter->first_ms));
	add_text(&fields, "onceproxy-detail", letter->detail);
	add_text(&fields, "onceproxy-label", letter->label);
	add_text(&fields, "onceproxy-store",
	    arena_dup(arena,
		span_str(store_identity(d->source->worker->store)->data)));
	add_answer(arena, &fields, letter->answer);
	*ret_put = (struct broker_put){
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

struct broker_message *
message_end_of_letter(struct arena *arena, const struct letter *letter)
{
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	*m = (struct broker_message){
	    .arena = arena,
	    .position = letter->position,
	    .fields = letter->fields,
	    .has_payload = letter->has_payload,
	    .payload = letter->payload,
	    .key = letter->key,
	    .entity = letter->entity,
	    .type = letter->type,
	    .part = letter->part,
	    .time_ms = letter->time_ms,
	    .too_large = letter->is_cut,
	    .again = true,
	};
	m->bytes = sizeof *m + m->payload.len;
	for (size_t i = 0; i < m->fields.count; i++)
		m->bytes += m->fields.list[i].name.len +
		    m->fields.list[i].value.len;
	return m;
}

/* --- its line in the log --- */

void
message_end_log(const struct delivery *d)
{
	bool wanted = d->source->conf->log_access && log_wants(EV_message);
	if (!wanted && !d->buried)
		return;
	int status = delivery_status(d);
	struct logline line = log_begin_as(EV_message, d->buried);
	log_str(&line, "source", d->source->source->name);
	log_cut(&line, "position", d->message->position, 256);
	log_str(&line, "outcome", source_meter_outcomes[d->outcome]);
	if (d->buried)
		log_str(&line, "reason", source_meter_outcomes[d->reason]);
	/* Another reader has finished it. */
	if (d->finish.finished == BROKER_NOT_PENDING)
		log_word(&line, "elsewhere", "true");
	if (d->route != NULL)
		log_str(&line, "route", d->route);
	if (d->label.len > 0)
		log_span(&line, "label", d->label);
	if (status != 0)
		log_int(&line, "status", status);
	if (d->attempt > 0)
		log_int(&line, "attempt", d->attempt);
	if (d->key_hex[0] != '\0')
		log_str(&line, "key_id", d->key_hex);
	if (d->detail.len > 0)
		log_cut(&line, "detail", d->detail, 256);
	if (d->replay != NULL && d->replay->act == LETTER_REPLAY)
		log_word(&line, "replayed", "true");
	log_put_ms(&line, SPAN("total_ms"), clock_us() - d->began_us);
	log_end(&line);
}
