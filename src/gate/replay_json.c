/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "base/json.h"
#include "gate/replay_json.h"
#include "http/head/proxy_headers.h"

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
	/* They tell of the bytes that were stored. */
	static char digest[] = "Content-Digest", tag[] = "ETag";
	static char *names[] = {digest, tag};
	const struct strings of_bytes = {names, 2};
	struct span text = body_span(&(*answer)->body);
	size_t before = (size_t)(old.ptr - text.ptr);
	struct span after = span_from(text, before + old.len);
	size_t most = before + other.len + after.len;
	struct body body = {.budget = budget};
	if (body_append_within(&body, text.ptr, before, most) != 0 ||
	    body_append_within(&body, other.ptr, other.len, most) != 0 ||
	    body_append_within(&body, after.ptr, after.len, most) != 0) {
		body_clear(&body);
		return E_NO_MEMORY;
	}
	const struct fields fields = proxy_headers_listed(
	    scratch, &(*answer)->fields, &of_bytes, false);
	struct answer *made = answer_new(
	    (*answer)->status, &fields, &body, (*answer)->request_id);
	answer_unref(answer);
	*answer = made;
	return 0;
}

int
replay_json_put(struct budget *budget, const struct conf_idempotency *policy,
    const struct span *taken, struct answer **answer)
{
	int error = 0;
	for (size_t i = 0; i < policy->replay_json.count && error == 0; i++) {
		struct arena *scratch = arena_new();
		struct span old;
		const struct json *at =
		    json_read(scratch, body_span(&(*answer)->body));
		if (at != NULL)
			at = json_at(at, &policy->replay_json.list[i]);
		if (at != NULL && taken[i].ptr != NULL &&
		    json_written(at, &old))
			error =
			    replace(budget, scratch, old, taken[i], answer);
		arena_free(&scratch);
	}
	return error;
}
