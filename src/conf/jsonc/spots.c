/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/jsonc/spots.h"

#include <stdlib.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "conf/jsonc/comments.h"
#include "conf/jsonc/wrong_private.h"

/* A value: those of one pointer stand together, in the order of the text. */
struct placed {
	char *pointer;
	const char *up; /* of what object or list; not looked at */
	bool named;
	bool variable; /* it is a text that has "${", or is "$NAME" */
	struct spot name;
	struct spot value;
};

struct spots {
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
	if ((spots->count & (spots->count - 1)) == 0)
		spots->list = mem_grow(spots->list,
		    (2 * spots->count + 1) * sizeof *spots->list);
	struct placed *found = &spots->list[spots->count++];
	*found = (struct placed){.pointer = mem_text(seen->pointer),
	    .up = seen->up,
	    .named = seen->name != NULL,
	    .variable = text.ptr != NULL && has_variable(text)};
	if (found->named)
		found->name = walk_to(w, seen->name);
	found->value = walk_to(w, seen->value);
}

static int
compare(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int order = strcmp(x->pointer, y->pointer);
	if (order == 0)
		order = (x->value.line > y->value.line) -
		    (x->value.line < y->value.line);
	return order != 0 ? order
			  : (x->value.column > y->value.column) -
		(x->value.column < y->value.column);
}

struct spots *
spots_read(struct span text, char *plain, struct spots_fault *ret_fault)
{
	struct span rest = span_of(plain, text.len);
	struct wrong comment = {NULL, NULL, NULL};
	struct json_fault fault = {JSON_WANTS_VALUE, plain + text.len};
	struct arena *arena = arena_new();
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
	    ? json_read_written(arena, rest, &fault)
	    : NULL;
	if (json == NULL && wrong.words == NULL)
		wrong = wrong_of(rest, &fault);
	if (comment.words != NULL && (json != NULL || comment.at <= fault.at))
		wrong = comment;
	if (wrong.words == NULL) {
		walk.spots = spots = mem_zero(sizeof *spots);
		json_each(json, add, &walk);
		qsort(spots->list, spots->count, sizeof *spots->list, compare);
	} else {
		struct walk again = walk;
		*ret_fault = (struct spots_fault){
		    walk_to(&walk, wrong.at), wrong.words, {0, 0}};
		if (wrong.opened != NULL)
			ret_fault->opened = walk_to(&again, wrong.opened);
	}
	arena_free(&arena);
	return spots;
}

void
spots_free(struct spots **spots)
{
	if (*spots == NULL)
		return;
	for (size_t i = 0; i < (*spots)->count; i++)
		free((*spots)->list[i].pointer);
	free((*spots)->list);
	free(*spots);
	*spots = NULL;
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
	return name && len == whole && found->named ? found->name
						    : found->value;
}

bool
spots_has(const struct spots *spots, const char *pointer)
{
	return !strcmp(pointer, "/") ||
	    find(spots, pointer, strlen(pointer)) != NULL;
}

void
spots_each_twice(const struct spots *spots,
    void (*each)(void *arg, const char *pointer, struct spot first),
    void *arg)
{
	const struct placed *first = spots->list;
	for (size_t i = 1; i < spots->count; i++) {
		const struct placed *found = &spots->list[i];
		/* The same pointer may lead through another one of a name. */
		if (found->up != first->up ||
		    strcmp(found->pointer, first->pointer) != 0)
			first = found;
		else
			each(arg, found->pointer, first->name);
	}
}

void
spots_each_variable(const struct spots *spots,
    void (*each)(void *arg, const char *pointer), void *arg)
{
	for (size_t i = 0; i < spots->count; i++)
		if (spots->list[i].variable)
			each(arg, spots->list[i].pointer);
}
