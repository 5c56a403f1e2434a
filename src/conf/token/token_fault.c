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

/* It is JSON for people: what a reader that takes no liberties minds. */
static char *
words_of_liberties(struct spots *spots)
{
	struct repeated twice = {spots, {0, 0}};
	spots_each_twice(spots, keep_first, &twice);
	return twice.at.line > 0
	    ? mem_printf("has no JWK Set: at %zu:%zu a member appears twice",
		  twice.at.line, twice.at.column)
	    : mem_text("has no JWK Set: a comment, a byte order mark, or what "
		  "else no plain JSON has, is in it");
}

static bool
is_object(struct span text)
{
	if (span_starts(text, SPAN("\xef\xbb\xbf")))
		text = span_from(text, 3);
	while (text.len > 0 && memchr(" \t\r\n", *text.ptr, 4) != NULL)
		text = span_from(text, 1);
	return text.len > 0 && *text.ptr == '{';
}

char *
token_fault_words(struct span text)
{
	struct spots_fault fault;
	if (!is_object(text))
		return mem_text("has no JWK Set: a JSON object with \"keys\"");
	char *copy = mem_copy(text.ptr, text.len);
	struct spots *spots = spots_read(text, copy, &fault);
	free(copy);
	if (spots != NULL) {
		char *words = words_of_liberties(spots);
		spots_free(&spots);
		return words;
	}
	return fault.opened.line == 0
	    ? mem_printf("is no JSON: at %zu:%zu %s", fault.at.line,
		  fault.at.column, fault.words)
	    : mem_printf("is no JSON: at %zu:%zu %s (what is open there begins "
		  "at %zu:%zu)", fault.at.line, fault.at.column, fault.words,
		  fault.opened.line, fault.opened.column);
}
