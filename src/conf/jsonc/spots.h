/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/must.h"

/*
 * Where in a text of JSON with comments what stands: jansson gives values, and
 * no spots of them.  Says what is wrong with the text in words for people, and
 * keeps pointers and spots, no values: they may be secrets.  Lines and columns
 * count from 1, columns in characters.  It knows nothing of what the text is
 * for.  Main thread.
 */
struct spot {
	size_t line;
	size_t column;
};

struct spots;

/* What is wrong with a text, and where. */
struct spots_fault {
	struct spot at;
	const char *words;
	/* The bracket that is open there, where that helps; line 0: none. */
	struct spot opened;
};

/*
 * Reads a whole text; plain: a copy of it, whose comments become blanks.  What
 * is kept lives in the arena.  NULL, with *ret_fault, where it is no JSON then.
 * What it takes jansson takes too, but for numbers too large.
 */
MUST_USE struct spots *spots_read(struct arena *arena, struct span text,
    char *plain, struct spots_fault *ret_fault);

/*
 * The place of the value that a JSON pointer leads to, or of the innermost one
 * around it that there is; of a member that is there twice, the last one's.
 * With `name`, the place of the member's name where it has one.
 */
struct spot spots_find(
    const struct spots *spots, const char *pointer, bool name);
/* Whether there is what a JSON pointer leads to. */
bool spots_has(const struct spots *spots, const char *pointer);
/* The place of a byte of a text. */
struct spot spots_of_byte(struct span text, size_t at);

enum spots_kind {
	/* A member whose name the same object had before. */
	SPOTS_TWICE,
	/*
	 * A text that has "${", or is "$NAME", which other programs replace;
	 * member or element, but no member's name.
	 */
	SPOTS_VARIABLE,
};
/*
 * Calls it for each of that kind; first: where the name of the first one of
 * several of a name is.
 */
void spots_each(const struct spots *spots, enum spots_kind kind,
    void (*each)(void *arg, const char *pointer, struct spot first),
    void *arg);
