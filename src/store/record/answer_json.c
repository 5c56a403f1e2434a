/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/utf8.h"
#include "store/record/answer_json.h"

json_t *
answer_json_text(struct span text)
{
	if (utf8_is_valid(text))
		return json_stringn(text.len > 0 ? text.ptr : "", text.len);
	char *copy = mem_zero(2 * text.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < text.len; i++)
		len += utf8_put((unsigned char)text.ptr[i], copy + len);
	json_t *json = json_stringn(copy, len);
	free(copy);
	return json;
}

void
answer_json_set(json_t *object, const struct answer *answer)
{
	const struct span body = body_span(&answer->body);
	json_t *headers = json_array();
	for (size_t i = 0; i < answer->fields.count; i++) {
		const struct field *field = &answer->fields.list[i];
		must(json_array_append_new(headers,
			 json_pack("[o, o]", answer_json_text(field->name),
			     answer_json_text(field->value))) == 0);
	}
	must(json_object_set_new(object, "headers", headers) == 0);
	if (utf8_is_valid(body) &&
	    (body.len == 0 || memchr(body.ptr, '\0', body.len) == NULL)) {
		must(json_object_set_new(object, "body",
			 json_stringn(body.len > 0 ? body.ptr : "",
			     body.len)) == 0);
		return;
	}
	char *text = base64_encode(body);
	must(json_object_set_new(object, "body_base64", json_string(text)) ==
	    0);
	free(text);
}
