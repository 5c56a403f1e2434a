/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "base/digest.h"
#include "base/json_pointer.h"
#include "base/must.h"

/*
 * Bodies read as JSON (RFC 8259) by value: numbers stay decimal, so that
 * integers beyond 64 bits and long fractions do not blur (jansson, which
 * reads the configuration, turns them into doubles).  It knows nothing of
 * requests.  Any thread; what is read lives in the caller's arena and points
 * into the text, which must live as long.
 */
struct json;

/* The deepest nesting that is read. */
enum { JSON_DEPTH = 128 };

/*
 * Reads one whole text.  NULL where it is not JSON, nested too deep, not
 * valid UTF-8, or has a member name twice: such a text has no one value.
 */
MUST_USE const struct json *json_read(struct arena *arena, struct span text);

/* Where a text is no JSON, and what was to come there. */
enum json_want {
	JSON_WANTS_VALUE,
	JSON_WANTS_NAME,
	JSON_WANTS_COLON,
	JSON_WANTS_COMMA, /* or what closes the array or object */
	JSON_WANTS_END,
	JSON_WANTS_NO_MORE_DEPTH,
};
struct json_fault {
	enum json_want want;
	const char *at; /* where it begins, or the end of the text */
};
/*
 * The same of a text that people write, for json_each: members stay in their
 * order and may be there twice, and no string has a \u0000.  NULL, with
 * *ret_fault.
 */
MUST_USE const struct json *json_read_written(
    struct arena *arena, struct span text, struct json_fault *ret_fault);

/* A value, and where in the text it is. */
struct json_seen {
	const char *pointer; /* "" for the whole */
	const char *up;      /* where what holds it begins; NULL: the whole */
	const char *name;    /* NULL: of an element */
	const char *value;
	struct span text; /* of a string, as spelled; ptr NULL: it is none */
};
/* Calls it for each value, from the outside in, in the order of the text. */
void json_each(const struct json *json,
    void (*each)(void *arg, const struct json_seen *place), void *arg);

/*
 * Reads a form (application/x-www-form-urlencoded: WHATWG URL, section 5.1) as
 * an object of strings.  The values of a field that comes twice stay together
 * in their order, and no pointer leads to them.
 */
MUST_USE const struct json *json_form(struct arena *arena, struct span text);

/*
 * Finds what a pointer leads to (RFC 6901, section 4); NULL where there is
 * nothing.
 */
MUST_USE const struct json *json_at(
    const struct json *json, const struct json_pointer *pointer);

/* The same, or all values of a form's field that comes twice, to digest. */
MUST_USE const struct json *json_at_all(
    const struct json *json, const struct json_pointer *pointer);

/*
 * The value of a string, a number (plainly, without an exponent, as long as
 * that has at most 64 digits) or a boolean as text; false of null, lists and
 * objects.  It comes from the arena or lives as long as the value.
 */
MUST_USE bool json_scalar(struct arena *arena, const struct json *json,
    struct span *ret_text);
/*
 * A member or element that is a string, number, boolean or null, as it is
 * written in the text that was read; false of others, and of what json_form has
 * read.
 */
MUST_USE bool json_written(const struct json *json, struct span *ret_text);
/* The text of a string, and a number's one spelling; false of other types. */
MUST_USE bool json_text(const struct json *json, struct span *ret_text);
MUST_USE bool json_spelling(const struct json *json, struct span *ret_text);

/*
 * Writes a string of what is valid UTF-8, with its quotes and no NUL: at most
 * six bytes for each of text, and two.  Returns where it ends.
 */
char *json_put(char *to, struct span text);

/* True of what json_form has read. */
bool json_is_form(const struct json *json);
/* True of null; the plain name is a macro of jansson. */
bool json_is_nil(const struct json *json);

/*
 * Adds the value to a digest so that two texts give the same bytes exactly
 * where they have the same value: members in the order of their names,
 * strings unescaped, numbers normalised (1, 1.0 and 10e-1 are the same; -0
 * is 0).  What `ignore` (or NULL) points to is left out: a member as if it
 * were not there, an array's element with a hole in its place, so that those
 * behind it keep theirs.
 */
void json_digest(const struct json *json, const struct json_pointers *ignore,
    struct digest *digest);
