/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/token/token_fault.h"

struct repeated {
	const struct spots *spots;
	struct spot at; /* line 0: none yet */
};

static void
keep_first(void *arg, const char *pointer, struct spot first)
{
	struct repeated *twice = arg;
	(void)first;
	if (twice->at.line == 0)
		twice->at = spots_find(twice->spots, pointer, true);
}

char *
token_fault_words(struct span text)
{
	struct spots_fault fault;
	struct span begin = text;
	span_skip(&begin, SPAN("\xef\xbb\xbf"));
	while (begin.len > 0 && memchr(" \t\r\n", *begin.ptr, 4) != NULL)
		begin = span_from(begin, 1);
	if (begin.len == 0 || *begin.ptr != '{')
		return mem_text("has no JWK Set: a JSON object with \"keys\"");
	char *copy = mem_copy(text.ptr, text.len);
	struct arena *arena = arena_new();
	struct repeated twice = {
	    spots_read(arena, text, copy, &fault), {0, 0}};
	bool is_json = twice.spots != NULL;
	/* What a reader of JSON for people lets pass, others mind. */
	if (is_json)
		spots_each(twice.spots, SPOTS_TWICE, keep_first, &twice);
	arena_free(&arena);
	free(copy);
	if (is_json)
		return twice.at.line > 0
		    ? mem_printf("has no JWK Set: at %zu:%zu a member appears "
			  "twice", twice.at.line, twice.at.column)
		    : mem_text("has no JWK Set: a comment, a byte order mark, "
			  "or what else no plain JSON has, is in it");
	return fault.opened.line == 0
	    ? mem_printf("is no JSON: at %zu:%zu %s", fault.at.line,
		  fault.at.column, fault.words)
	    : mem_printf("is no JSON: at %zu:%zu %s (what is open there begins "
		  "at %zu:%zu)", fault.at.line, fault.at.column, fault.words,
		  fault.opened.line, fault.opened.column);
}
