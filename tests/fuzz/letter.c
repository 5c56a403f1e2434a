/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "messages/shared/letter_stored.h"

/*
 * Whatever stands in Redis for the head of a letter, or for its body: what is
 * read as one, and put again, is the same bytes, and what is read lies within
 * them.
 */
static void
is_within(struct span part, struct span whole)
{
	must(part.ptr == NULL ||
	    (part.ptr >= whole.ptr &&
		part.ptr + part.len <= whole.ptr + whole.len));
}

static void
is_same(struct span input, char *bytes, size_t len)
{
	must(span_eq(input, span_of(bytes, len)));
	free(bytes);
}

void
fuzz_letter(struct span input)
{
	struct letter letter = {0};
	char *bytes;
	size_t len;

	if (letter_stored_read_head(input, &letter)) {
		is_within(letter.position, input);
		is_within(letter.label, input);
		must(letter.status >= 0 && letter.first_ms >= 0);
		must(letter.reason.len > 0);
		letter_stored_put(&letter, false, &bytes, &len);
		is_same(input, bytes, len);
	}
	struct arena *arena = arena_new();
	if (letter_stored_read_body(input, arena, &letter)) {
		is_within(letter.payload, input);
		is_within(letter.answer, input);
		for (size_t i = 0; i < letter.fields.count; i++) {
			is_within(letter.fields.list[i].name, input);
			is_within(letter.fields.list[i].value, input);
		}
		must(letter.time_ms >= -1);
		letter_stored_put(&letter, true, &bytes, &len);
		is_same(input, bytes, len);
	}
	arena_free(&arena);
}
