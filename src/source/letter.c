/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digits.h"
#include "source/letter.h"

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

void
letter_read(const struct broker_message *m, struct letter *ret)
{
	int64_t attempt;
	*ret = (struct letter){
	    .reason = text_in(m, SPAN("onceproxy-reason")),
	    .key_id = text_in(m, SPAN("onceproxy-key-id")),
	    .first = text_in(m, SPAN("onceproxy-first")),
	    .detail = text_in(m, SPAN("onceproxy-detail")),
	};
	if (digits_read(text_in(m, SPAN("onceproxy-attempt")), UINT32_MAX,
		&attempt))
		ret->attempt = (uint32_t)attempt;
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
