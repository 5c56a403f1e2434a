/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json.h"
#include "gate/replay_json.h"

enum { TAKEN_MAX_BYTES = 256 };

struct span *
replay_json_take(struct arena *arena, const struct conf_idempotency *policy,
    const struct content *content)
{
	const struct json_pointers *pointers = &policy->replay_json;
	struct span *taken =
	    arena_alloc(arena, (pointers->count + 1) * sizeof *taken);
	/* A body that is read as JSON takes many times its size. */
	struct arena *scratch = arena_new();
	const struct json *json = content_json(scratch, content);
	for (size_t i = 0; i < pointers->count; i++) {
		const struct json *at =
		    json != NULL ? json_at(json, &pointers->list[i]) : NULL;
		struct span text;
		taken[i] = (struct span){NULL, 0};
		if (at != NULL && json_written(at, &text) &&
		    text.len <= TAKEN_MAX_BYTES)
			taken[i] = arena_dup(arena, text);
	}
	arena_free(&scratch);
	return taken;
}

/* The answer with other text in place of a part of its body. */
static int
replace(struct budget *budget, struct arena *scratch, struct span old,
    struct span other, struct answer **answer)
{
	const struct fields *in = &(*answer)->fields;
	struct span text = body_span(&(*answer)->body);
	size_t before = (size_t)(old.ptr - text.ptr);
	struct span after = span_from(text, before + old.len);
	size_t most = before + other.len + after.len;
	struct fields out = {
	    arena_alloc(scratch, (in->count + 1) * sizeof *in->list), 0};
	struct body body;
	body_init(&body, budget);
	int error = body_append_within(&body, text.ptr, before, most);
	if (error == 0)
		error = body_append_within(&body, other.ptr, other.len, most);
	if (error == 0)
		error = body_append_within(&body, after.ptr, after.len, most);
	if (error != 0) {
		body_clear(&body);
		return error;
	}
	/* They tell of the bytes that were stored. */
	for (size_t i = 0; i < in->count; i++)
		if (!span_ieq(in->list[i].name, SPAN("Content-Digest")) &&
		    !span_ieq(in->list[i].name, SPAN("ETag")))
			out.list[out.count++] = in->list[i];
	struct answer *made = answer_new(
	    (*answer)->status, &out, &body, (*answer)->request_id);
	answer_unref(answer);
	*answer = made;
	return 0;
}

int
replay_json_put(struct budget *budget, const struct conf_idempotency *policy,
    const struct span *taken, struct answer **answer)
{
	const struct json_pointers *pointers = &policy->replay_json;
	int error = 0;
	for (size_t i = 0; i < pointers->count && error == 0; i++) {
		struct span old;
		if (taken[i].ptr == NULL)
			continue;
		struct arena *scratch = arena_new();
		const struct json *at =
		    json_read(scratch, body_span(&(*answer)->body));
		if (at != NULL)
			at = json_at(at, &pointers->list[i]);
		if (at != NULL && json_written(at, &old))
			error =
			    replace(budget, scratch, old, taken[i], answer);
		arena_free(&scratch);
	}
	return error;
}
