/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/jsonc/spots.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "conf/jsonc/comments.h"
#include "conf/jsonc/wrong_private.h"

/* A value: those of one pointer stand together, in the order of the text. */
struct placed {
	char *pointer;
	/* Of it and of what object or list; nobody looks there any more. */
	const char *at, *up;
	bool variable;    /* it is a text that has "${", or is "$NAME" */
	struct spot name; /* line 0: it has none */
	struct spot value;
};

struct spots {
	struct arena *arena;
	struct placed *list;
	size_t count;
};

/* Goes on in a text, and in what is left of it without comments. */
struct walk {
	struct spots *spots;
	const char *text, *plain;
	struct spot at;
};

static struct spot
walk_to(struct walk *w, const char *byte)
{
	for (; w->plain < byte; w->plain++, w->text++) {
		if (*w->text == '\n') {
			w->at.line++;
			w->at.column = 1;
		} else if ((*w->text & 0xc0) != 0x80) {
			w->at.column++;
		}
	}
	return w->at;
}

struct spot
spots_of_byte(struct span text, size_t at)
{
	struct walk w = {.text = text.ptr, .plain = text.ptr, .at = {1, 1}};
	return walk_to(&w, text.ptr + at);
}

/* --- what a text has --- */

/* "$NAME" in capitals, as for a shell, and nothing else; or "${". */
static bool
has_variable(struct span text)
{
	bool is_name = text.len >= 4 && text.ptr[0] == '$' &&
	    !ascii_is_digit(text.ptr[1]);
	for (size_t i = 1; i < text.len && is_name; i++) {
		char c = text.ptr[i];
		is_name = (ascii_is_alpha(c) && !ascii_is_lower(c)) ||
		    ascii_is_digit(c) || c == '_';
	}
	return is_name || memmem(text.ptr, text.len, "${", 2) != NULL;
}

static void
add(void *arg, const struct json_seen *seen)
{
	struct walk *w = arg;
	struct spots *spots = w->spots;
	struct span text = seen->text;
	size_t count = spots->count++, bytes = count * sizeof *spots->list;
	/* The room is twice as large behind each power of two. */
	if ((count & (count - 1)) == 0) {
		struct placed *list = spots->list;
		spots->list = arena_alloc(
		    spots->arena, 2 * bytes + sizeof *spots->list);
		span_put((char *)spots->list, span_of(list, bytes));
	}
	struct placed *found = &spots->list[count];
	*found = (struct placed){
	    .pointer = arena_str(spots->arena, span_str(seen->pointer)),
	    .at = seen->value,
	    .up = seen->up,
	    .variable = text.ptr != NULL && has_variable(text)};
	if (seen->name != NULL)
		found->name = walk_to(w, seen->name);
	found->value = walk_to(w, seen->value);
}

static int
compare(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = strcmp(x->pointer, y->pointer);
	return order != 0 ? order : (x->at > y->at) - (x->at < y->at);
}

struct spots *
spots_read(struct arena *arena, struct span text, char *plain,
    struct spots_fault *ret_fault)
{
	struct span rest = span_of(plain, text.len);
	struct wrong comment = {NULL, NULL, NULL};
	struct json_fault fault = {JSON_WANTS_VALUE, plain + text.len};
	struct arena *values = arena_new();
	struct spots *spots = NULL;
	struct walk walk = {.text = text.ptr, .plain = plain, .at = {1, 1}};
	comment.words = comments_blank(plain, text.len, &comment.at);
	/* Columns count from behind the mark. */
	if (span_starts(text, SPAN("\xef\xbb\xbf"))) {
		rest = span_from(rest, 3);
		walk.text += 3;
		walk.plain += 3;
	}
	struct wrong wrong = wrong_from_the_start(rest);
	const struct json *json = wrong.words == NULL
	    ? json_read_written(values, rest, &fault)
	    : NULL;
	if (json == NULL && wrong.words == NULL)
		wrong = wrong_of(rest, &fault);
	if (comment.words != NULL && (json != NULL || comment.at <= fault.at))
		wrong = comment;
	if (wrong.words == NULL) {
		walk.spots = spots = arena_alloc(arena, sizeof *spots);
		spots->arena = arena;
		json_each(json, add, &walk);
		qsort(spots->list, spots->count, sizeof *spots->list, compare);
	} else {
		struct walk again = walk;
		*ret_fault = (struct spots_fault){
		    walk_to(&walk, wrong.at), wrong.words, {0, 0}};
		if (wrong.opened != NULL)
			ret_fault->opened = walk_to(&again, wrong.opened);
	}
	arena_free(&values);
	return spots;
}

/* --- who asks --- */

/* The last one of a pointer of so many bytes; NULL: there is none. */
static const struct placed *
find(const struct spots *spots, const char *pointer, size_t len)
{
	size_t low = 0, high = spots->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		const char *other = spots->list[middle].pointer;
		int order = strncmp(other, pointer, len);
		if (order < 0 || (order == 0 && other[len] == '\0'))
			low = middle + 1;
		else
			high = middle;
	}
	const struct placed *last = low > 0 ? &spots->list[low - 1] : NULL;
	return last != NULL && strlen(last->pointer) == len &&
		!memcmp(last->pointer, pointer, len)
	    ? last
	    : NULL;
}

struct spot
spots_find(const struct spots *spots, const char *pointer, bool name)
{
	size_t whole = strcmp(pointer, "/") == 0 ? 0 : strlen(pointer);
	size_t len = whole;
	const struct placed *found;
	while ((found = find(spots, pointer, len)) == NULL)
		while (pointer[--len] != '/')
			;
	return name && len == whole && found->name.line > 0 ? found->name
							    : found->value;
}

bool
spots_has(const struct spots *spots, const char *pointer)
{
	return !strcmp(pointer, "/") ||
	    find(spots, pointer, strlen(pointer)) != NULL;
}

void
spots_each(const struct spots *spots, enum spots_kind kind,
    void (*each)(void *arg, const char *pointer, struct spot first), void *arg)
{
	const struct placed *first = NULL;
	for (size_t i = 0; i < spots->count; i++) {
		const struct placed *found = &spots->list[i];
		/* The same pointer may lead through another one of a name. */
		bool twice = kind == SPOTS_TWICE && first != NULL &&
		    found->up == first->up &&
		    strcmp(found->pointer, first->pointer) == 0;
		if (!twice)
			first = found;
		if (kind == SPOTS_TWICE ? twice : found->variable)
			each(arg, found->pointer, first->name);
	}
}
