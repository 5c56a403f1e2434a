/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "messages/source/letter.h"

bool
letter_is_ours(struct span name)
{
	return name.len >= 10 &&
	    field_names_meet(span_of(name.ptr, 10), SPAN("onceproxy-"));
}

static struct span
text_in(const struct broker_message *m, struct span name)
{
	const struct field *field = fields_first(&m->fields, name);
	return field != NULL ? field->value : SPAN("");
}

static void
read_answer(const struct broker_message *m, struct letter *ret)
{
	const struct field *text =
	    fields_first(&m->fields, SPAN("onceproxy-answer"));
	const struct field *base64 =
	    fields_first(&m->fields, SPAN("onceproxy-answer-base64"));
	ret->is_base64 = text == NULL && base64 != NULL;
	if (text != NULL || base64 != NULL)
		ret->answer = ret->is_base64 ? base64->value : text->value;
}

void
letter_read(const struct broker_message *m, struct letter *ret)
{
	int64_t attempt, status;
	*ret = (struct letter){
	    .reason = text_in(m, SPAN("onceproxy-reason")),
	    .key_id = text_in(m, SPAN("onceproxy-key-id")),
	    .first = text_in(m, SPAN("onceproxy-first")),
	    .detail = text_in(m, SPAN("onceproxy-detail")),
	    .label = text_in(m, SPAN("onceproxy-label")),
	};
	if (digits_read(text_in(m, SPAN("onceproxy-attempt")), UINT32_MAX,
		&attempt))
		ret->attempt = (uint32_t)attempt;
	if (digits_read(text_in(m, SPAN("onceproxy-status")), 999, &status))
		ret->status = (int)status;
	read_answer(m, ret);
}

void
letter_strip(struct broker_message *m)
{
	size_t count = 0;
	for (size_t i = 0; i < m->fields.count; i++)
		if (!letter_is_ours(m->fields.list[i].name))
			m->fields.list[count++] = m->fields.list[i];
	m->fields.count = count;
}
