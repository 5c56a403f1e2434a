/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"
#include "base/percent.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "messages/source/message_text.h"

const struct field *
message_text_field(const struct broker_message *m, struct span name)
{
	for (size_t i = 0; i < m->fields.count; i++)
		if (field_names_meet(m->fields.list[i].name, name))
			return &m->fields.list[i];
	return NULL;
}

/* --- templates --- */

bool
message_text_value(const struct broker_message *m, struct span body,
    struct arena *scratch, const struct template_piece *piece,
    struct span *ret_value)
{
	const struct field *field;
	const struct json *json;
	*ret_value = span_of(NULL, 0);
	switch (piece->kind) {
	case TEMPLATE_JSON:
		json = json_read(scratch, body);
		json = json != NULL ? json_at(json, &piece->pointer) : NULL;
		return json != NULL && json_scalar(scratch, json, ret_value);
	case TEMPLATE_HEADER:
		field = message_text_field(m, piece->text);
		if (field != NULL)
			*ret_value = field->value;
		break;
	case TEMPLATE_KEY:
		*ret_value = m->key;
		break;
	case TEMPLATE_ENTITY:
		*ret_value = m->entity;
		break;
	case TEMPLATE_TYPE:
		*ret_value = m->type;
		break;
	case TEMPLATE_ID:
		*ret_value = m->position;
		break;
	case TEMPLATE_TEXT:
	case TEMPLATE_PATH:
	case TEMPLATE_BARE:
	case TEMPLATE_SCOPE:
		break;
	}
	return ret_value->ptr != NULL;
}

bool
message_text_fill(struct arena *arena, const struct template *t,
    variables_value *value, void *arg, struct span *ret_text)
{
	struct span text = SPAN("");
	for (size_t i = 0; i < t->count; i++) {
		struct span part = t->pieces[i].text;
		if (t->pieces[i].kind != TEMPLATE_TEXT &&
		    (!value(arg, &t->pieces[i], &part) || part.len == 0 ||
			!field_is_value(part)))
			return false;
		text = i == 0 ? part
			      : arena_printf(arena, "%.*s%.*s",
				    SPAN_FMT(text), SPAN_FMT(part));
	}
	*ret_text = arena_dup(arena, text);
	return true;
}

/* --- CloudEvents --- */

void
message_text_cloudevent(const struct conf_source *source,
    const struct broker_message *m, struct arena *arena,
    struct fields *fields)
{
	const char *place =
	    source->stream != NULL ? source->stream : source->table;
	struct span where = arena_printf(arena, "/onceproxy/%s/%.*s",
	    source->broker->name,
	    SPAN_FMT(m->part.ptr != NULL ? m->part : span_str(place)));
	const struct field made[] = {
	    {SPAN("ce-id"), m->position},
	    {SPAN("ce-source"), where},
	    {SPAN("ce-type"),
		m->type.ptr != NULL && m->type.len > 0 ? m->type : where},
	    {SPAN("ce-time"), m->time_ms >= 0
		    ? message_text_time(arena, m->time_ms)
		    : SPAN("")},
	};
	fields->list[fields->count++] =
	    (struct field){SPAN("ce-specversion"), SPAN("1.0")};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		/* Of HTTP; "ce_NAME" of Kafka, "cloudEvents:NAME" of AMQP. */
		const struct field *own = message_text_field(m, made[i].name);
		struct span value = own != NULL && own->value.len > 0
		    ? own->value
		    : made[i].value;
		if (value.len > 0)
			fields->list[fields->count++] = (struct field){
			    made[i].name, message_text_encode(arena, value)};
	}
}

/* All that can be seen stays, but for the quote and the "%". */
struct span
message_text_encode(struct arena *arena, struct span value)
{
	return percent_encode(arena, value, "!#$&'()*+,-./:;<=>?@[\\]^_`{|}~");
}

/* --- JSON --- */

bool
message_text_json(
    struct arena *arena, const struct fields *fields, struct span *ret_text)
{
	size_t most = 3;
	for (size_t i = 0; i < fields->count; i++) {
		const struct field *f = &fields->list[i];
		if (!utf8_is_valid(f->name) || !utf8_is_valid(f->value))
			return false;
		most += 6 * (f->name.len + f->value.len) + 6;
	}
	char *text = arena_alloc(arena, most), *to = text;
	*to++ = '{';
	for (size_t i = 0; i < fields->count; i++) {
		if (i > 0)
			*to++ = ',';
		to = json_put(to, fields->list[i].name);
		*to++ = ':';
		to = json_put(to, fields->list[i].value);
	}
	*to++ = '}';
	*ret_text = span_of(text, (size_t)(to - text));
	return true;
}

struct span
message_text_time(struct arena *arena, int64_t wall_ms)
{
	char text[RFC3339_MAX];
	return arena_dup(arena, span_str(rfc3339_write(wall_ms, text)));
}
