/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdlib.h>

#include "base/json_pointer.h"
#include "conf/jsonc/comments.h"
#include "conf/jsonc/spots.h"
#include "fuzz/fuzz.h"

/*
 * JSON with comments, against jansson, which gets the text with its comments
 * blanked: both take the same texts, but for what only jansson refuses.  Every
 * value that jansson has is found by its pointer, at a byte that such a value
 * begins with, and every fault is said to be within the text.
 */
struct lines {
	struct span text;
	const char **starts;
	size_t count;
};

static struct lines
lines_of(struct span text)
{
	struct lines lines = {.text = text};
	for (size_t i = 0; i <= text.len; i++) {
		if (i > 0 && text.ptr[i - 1] != '\n')
			continue;
		lines.starts = mem_grow(lines.starts,
		    (lines.count + 1) * sizeof *lines.starts);
		lines.starts[lines.count++] = text.ptr + i;
	}
	return lines;
}

/* The byte at a place; its end where it stands behind the text. */
static const char *
byte_at(const struct lines *lines, struct spot place)
{
	must(place.line > 0 && place.line <= lines->count);
	must(place.column > 0);
	const char *at = lines->starts[place.line - 1];
	const char *end = lines->text.ptr + lines->text.len;
	if (place.line == 1 && lines->text.len >= 3 &&
	    !memcmp(at, "\xef\xbb\xbf", 3))
		at += 3;
	for (size_t column = 1; at < end; at++) {
		/* What continues a character has no column. */
		if ((*at & 0xc0) == 0x80)
			continue;
		if (column++ == place.column)
			break;
	}
	return at;
}

static bool
may_begin(char c, const json_t *json)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return c == '{';
	case JSON_ARRAY:
		return c == '[';
	case JSON_STRING:
		return c == '"';
	case JSON_INTEGER:
	case JSON_REAL:
		return c == '-' || (c >= '0' && c <= '9');
	case JSON_TRUE:
		return c == 't';
	case JSON_FALSE:
		return c == 'f';
	case JSON_NULL:
		break;
	}
	return c == 'n';
}

static char *
pointer_below(const char *pointer, const char *name, size_t index)
{
	char *below = NULL;
	size_t len;
	FILE *out = open_memstream(&below, &len);
	must(out != NULL);
	fputs(pointer, out);
	if (name != NULL)
		json_pointer_write(out, span_str(name));
	else
		fprintf(out, "/%zu", index);
	must(fclose(out) == 0);
	return below;
}

static void
all_are_found(const struct spots *spots, const struct lines *lines,
    json_t *json, const char *pointer)
{
	const char *name;
	json_t *item;
	size_t i;
	struct spot at =
	    spots_find(spots, *pointer ? pointer : "/", false);
	must(may_begin(*byte_at(lines, at), json));
	json_array_foreach(json, i, item)
	{
		char *below = pointer_below(pointer, NULL, i);
		all_are_found(spots, lines, item, below);
		free(below);
	}
	json_object_foreach(json, name, item)
	{
		char *below = pointer_below(pointer, name, 0);
		struct spot named = spots_find(spots, below, true);
		/* To us "/" is the whole file. */
		bool whole = !strcmp(below, "/");
		must(whole || *byte_at(lines, named) == '"');
		if (!whole)
			all_are_found(spots, lines, item, below);
		free(below);
	}
}

static void
count_one(void *arg, const char *pointer, struct spot first)
{
	must(*pointer == '/' && first.line > 0 && first.column > 0);
	++*(size_t *)arg;
}

static void
against_jansson(struct span text, struct span plain,
    const struct spots *spots, const struct spots_fault *fault)
{
	json_error_t error;
	size_t twice = 0;
	struct lines lines = lines_of(text);
	json_t *json = json_loadb(plain.ptr, plain.len, 0, &error);
	enum json_error_code code = json_error_code(&error);
	if (spots == NULL) {
		(void)byte_at(&lines, fault->at);
		must(fault->words != NULL && *fault->words != '\0');
		/*
		 * jansson takes a NUL between two tokens for the end; and what
		 * is left of a text whose comment is wrong may be whole.
		 */
		must(json == NULL || fuzz_has(text, span_of("", 1)) ||
		    !strncmp(fault->words, "this comment ", 13) ||
		    !strcmp(fault->words, "this is nested too deep"));
	} else {
		must(json != NULL || code == json_error_numeric_overflow ||
		    fuzz_has(text, SPAN("\\u0000")));
		spots_each(spots, SPOTS_TWICE, count_one, &twice);
		if (json != NULL)
			all_are_found(spots, &lines, json, "");
		json_t *once = json_loadb(plain.ptr, plain.len,
		    JSON_REJECT_DUPLICATES, &error);
		must(json == NULL || (once == NULL) == (twice > 0));
		json_decref(once);
	}
	json_decref(json);
	free(lines.starts);
}

void
fuzz_spots(struct span input)
{
	struct spots_fault fault;
	char *plain = mem_copy(input.ptr, input.len);
	struct arena *arena = arena_new();
	struct spots *spots = spots_read(arena, input, plain, &fault);
	against_jansson(input, span_of(plain, input.len), spots, &fault);
	arena_free(&arena);
	free(plain);
}
