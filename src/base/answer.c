/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/answer.h"
#include "base/mem.h"

static struct span
copy_into(char **at, struct span s)
{
	char *to = *at;
	*at = span_put(to, s);
	return span_of(to, s.len);
}

static size_t
block_bytes(const struct fields *fields, struct span request_id)
{
	size_t bytes = sizeof(struct answer) + request_id.len +
	    fields->count * sizeof(struct field);
	for (size_t i = 0; i < fields->count; i++)
		bytes += fields->list[i].name.len + fields->list[i].value.len;
	return bytes;
}

/* One block holds the answer, its list of fields and their bytes. */
struct answer *
answer_new(int status, const struct fields *fields, struct body *body,
    struct span request_id)
{
	struct answer *answer = mem_zero(block_bytes(fields, request_id));
	struct field *list = (struct field *)(void *)(answer + 1);
	char *at = (char *)(list + fields->count);

	answer->refs = 1;
	answer->status = status;
	answer->head_length = -1;
	answer->fields = (struct fields){list, fields->count};
	for (size_t i = 0; i < fields->count; i++) {
		list[i].name = copy_into(&at, fields->list[i].name);
		list[i].value = copy_into(&at, fields->list[i].value);
	}
	answer->request_id = copy_into(&at, request_id);
	if (body != NULL)
		body_move(&answer->body, body);
	return answer;
}

struct answer *
answer_with_fields(struct answer *answer, const struct fields *fields)
{
	struct answer *other = answer_new(
	    answer->status, fields, NULL, answer->request_id);
	other->not_kept = answer->not_kept;
	other->head_length = answer->head_length;
	other->of = answer;
	other->body = (struct body){
	    .ptr = answer->body.ptr, .len = answer->body.len};
	return other;
}

size_t
answer_bytes(const struct answer *answer)
{
	return block_bytes(&answer->fields, answer->request_id) +
	    answer->body.size;
}

struct answer *
answer_ref(struct answer *answer)
{
	must(answer->refs > 0);
	answer->refs++;
	return answer;
}

void
answer_unref(struct answer **answer)
{
	struct answer *a = *answer;
	*answer = NULL;
	if (a == NULL)
		return;
	must(a->refs > 0);
	if (--a->refs > 0)
		return;
	if (a->of != NULL)
		answer_unref(&a->of);
	else
		body_clear(&a->body);
	free(a);
}
