/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/loop/log.h"
#include "base/utf8.h"
#include "messages/shared/letter.h"
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

static struct fields
room_for(struct arena *arena, size_t more)
{
	size_t bytes = (more + FIELDS_OURS) * sizeof(struct field);
	return (struct fields){arena_alloc(arena, bytes), 0};
}

/* --- a result --- */

bool
message_end_has_result(
    const struct source *source, enum message_outcome outcome)
{
	return source->source->results != NULL &&
	    (outcome == MESSAGE_EXECUTED || outcome == MESSAGE_DUPLICATE ||
		outcome == MESSAGE_REFUSED);
}

bool
message_end_is_repeated(const struct attempt *a, enum message_outcome outcome)
{
	const struct answer *answer = a->c.answer;
	return outcome == MESSAGE_DUPLICATE &&
	    (a->message->may_be_put || answer == NULL ||
		!span_eq(answer->request_id, a->c.id));
}

static void
add_header(struct fields *fields, const struct answer *answer,
    const char *name, struct span header)
{
	const struct field *field = answer != NULL && !answer->not_kept
	    ? fields_first(&answer->fields, header)
	    : NULL;
	if (field != NULL)
		add_text(fields, name, field->value);
}

void
message_end_result(struct arena *arena, const struct attempt *a, bool repeated,
    struct broker_put *ret_put)
{
	const struct answer *answer = a->c.answer;
	const struct broker_message *m = a->message;
	struct span key_id = arena_dup(arena, span_str(a->key_hex));
	struct fields fields = room_for(arena, 0);
	add_header(&fields, answer, "content-type", SPAN("Content-Type"));
	add_header(
	    &fields, answer, "content-encoding", SPAN("Content-Encoding"));
	add_number(arena, &fields, "onceproxy-status", attempt_status(a));
	add_text(&fields, "onceproxy-key-id", key_id);
	add_number(arena, &fields, "onceproxy-attempt", a->number);
	add_text(&fields, "onceproxy-source",
	    span_str(a->source->source->name));
	add_text(&fields, "onceproxy-position", m->position);
	if (repeated)
		add_text(&fields, "onceproxy-duplicate", SPAN("true"));
	*ret_put = (struct broker_put){
	    .place = BROKER_RESULTS,
	    .fields = fields,
	    .has_body = answer != NULL && !answer->not_kept,
	    .body = answer != NULL ? body_span(&answer->body) : SPAN(""),
	    .key = m->key,
	    .entity = m->entity,
	    .type = m->type,
	    .status = attempt_status(a),
	    .key_id = key_id,
	};
}

/* --- a letter --- */

void
message_end_letter(const struct attempt *a, enum message_outcome reason,
    const struct letters_lane *lane, int64_t first_ms,
    struct letter *ret_letter)
{
	const struct broker_message *m = a->message;
	const struct answer *answer = a->c.arena != NULL ? a->c.answer : NULL;
	bool has_answer = answer != NULL && !answer->not_kept &&
	    reason == MESSAGE_REFUSED;
	*ret_letter = (struct letter){
	    .name = letter_name_of(m->position, lane),
	    .position = m->position,
	    .reason = span_str(source_meter_outcome(reason)),
	    .key_id = span_str(a->key_hex),
	    .route = a->route != NULL ? span_str(a->route) : SPAN(""),
	    .detail = a->detail,
	    .label = a->label,
	    /* A record that is FAILED has none: its attempts were released. */
	    .status = reason == MESSAGE_EXHAUSTED ? a->met
						  : attempt_status(a),
	    .attempt = a->number,
	    .first_ms = first_ms,
	    .has_payload = m->has_payload,
	    .is_cut = m->too_large,
	    .fields = m->fields,
	    .payload = m->payload,
	    .key = m->key,
	    .entity = m->entity,
	    .type = m->type,
	    .part = m->part,
	    .time_ms = m->time_ms,
	    .answer = has_answer ? body_span(&answer->body)
				 : span_of(NULL, 0),
	};
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

/* One of the gateway's, of an earlier copy perhaps. */
static bool
is_ours(struct span name)
{
	return name.len >= 10 &&
	    field_names_meet(span_of(name.ptr, 10), SPAN("onceproxy-"));
}

void
message_end_copy(struct arena *arena, const struct source *source,
    const struct broker_message *m, const struct letter *letter,
    struct broker_put *ret_put)
{
	struct fields fields = room_for(arena, m->fields.count);
	for (size_t i = 0; i < m->fields.count; i++)
		if (!is_ours(m->fields.list[i].name))
			fields.list[fields.count++] = m->fields.list[i];
	size_t n_kept = fields.count;
	add_text(&fields, "onceproxy-reason", letter->reason);
	add_number(arena, &fields, "onceproxy-status", letter->status);
	add_text(&fields, "onceproxy-key-id", letter->key_id);
	add_number(arena, &fields, "onceproxy-attempt", letter->attempt);
	add_text(&fields, "onceproxy-source", span_str(source->source->name));
	add_text(&fields, "onceproxy-position", letter->position);
	add_text(&fields, "onceproxy-first",
	    message_text_time(arena, letter->first_ms));
	add_text(&fields, "onceproxy-detail", letter->detail);
	add_text(&fields, "onceproxy-label", letter->label);
	add_text(&fields, "onceproxy-store",
	    arena_dup(
		arena, span_str(store_data_id(source->worker->store))));
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

/* A field without a value (Kafka's) has none in the copy. */
static struct span
copy(struct arena *arena, struct span s)
{
	return s.ptr != NULL ? arena_dup(arena, s) : s;
}

static struct fields
copy_fields(struct arena *arena, const struct fields *fields)
{
	struct fields all = {
	    arena_alloc(arena, fields->count * sizeof(struct field)), 0};
	for (size_t i = 0; i < fields->count; i++)
		all.list[all.count++] =
		    (struct field){copy(arena, fields->list[i].name),
			copy(arena, fields->list[i].value)};
	return all;
}

struct broker_message *
message_end_of_letter(const struct letter *letter)
{
	struct arena *arena = arena_new();
	struct broker_message *m = arena_alloc(arena, sizeof *m);
	*m = (struct broker_message){
	    .arena = arena,
	    .position = arena_dup(arena, letter->position),
	    .fields = copy_fields(arena, &letter->fields),
	    .has_payload = letter->has_payload,
	    .payload = copy(arena, letter->payload),
	    .key = copy(arena, letter->key),
	    .entity = copy(arena, letter->entity),
	    .type = copy(arena, letter->type),
	    .part = copy(arena, letter->part),
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
message_end_log(const struct message_end *end)
{
	const struct attempt *a = end->attempt;
	bool is_letter = end->reason != MESSAGE_COUNT_;
	bool wanted = a->source->conf->log_access && log_wants(EV_message);
	if (!wanted && !is_letter)
		return;
	int status = end->reason == MESSAGE_EXHAUSTED ? a->met
						       : attempt_status(a);
	struct logline line = is_letter ? log_begin_warning(EV_message)
					: log_begin(EV_message);
	log_str(&line, "source", a->source->source->name);
	log_cut(&line, "position", end->position, 256);
	log_str(&line, "outcome", source_meter_outcome(end->outcome));
	if (is_letter)
		log_str(&line, "reason", source_meter_outcome(end->reason));
	if (end->elsewhere)
		log_bool(&line, "elsewhere", true);
	if (a->route != NULL)
		log_str(&line, "route", a->route);
	if (a->label.len > 0)
		log_span(&line, "label", a->label);
	if (status != 0)
		log_int(&line, "status", status);
	if (a->number > 0)
		log_int(&line, "attempt", a->number);
	if (a->key_hex[0] != '\0')
		log_str(&line, "key_id", a->key_hex);
	if (a->detail.len > 0)
		log_cut(&line, "detail", a->detail, 256);
	if (end->replayed)
		log_bool(&line, "replayed", true);
	log_ms(&line, "total_ms", end->took_us);
	log_end(&line);
}
