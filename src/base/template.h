/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/json_pointer.h"
#include "base/must.h"

/*
 * A text with variables in braces: "{key}", "{path:NAME}" (or in short
 * "{NAME}"), "{json:/pointer}", "{scope:N}", and those of a message.  It knows
 * neither their values nor who fills them in.
 * Pure; any thread.
 */
enum template_kind {
	TEMPLATE_TEXT, /* itself */
	TEMPLATE_KEY,  /* {key} */
	TEMPLATE_PATH, /* {path:NAME} */
	TEMPLATE_JSON, /* {json:/pointer} */
	TEMPLATE_BARE, /* {NAME}, which is read as TEMPLATE_PATH */
	TEMPLATE_HEADER, /* {header:NAME}; NAME is a token */
	TEMPLATE_ENTITY, /* {entity} */
	TEMPLATE_TYPE,   /* {type} */
	TEMPLATE_ID,     /* {id} */
	TEMPLATE_SCOPE,  /* {scope:N}; N is a number below 1000 */
};

struct template_piece {
	enum template_kind kind;
	struct span text;       /* the text, or the NAME */
	struct json_pointer pointer; /* of {json:…} */
};

struct template {
	/* As it was read, where the pieces point to; NULL: none. */
	const char *text;
	struct template_piece *pieces;
	size_t count;
};

/*
 * Takes a text apart, which must live as long; the rest lives in the arena.
 * kinds has a bit for each kind of variable that is allowed
 * (1 << TEMPLATE_KEY …).  NULL: it is well; else a message that says what is
 * wrong, and *ret_template is untouched.
 */
MUST_USE const char *template_read(struct arena *arena, const char *text,
    unsigned kinds, struct template *ret_template);
/*
 * Finds the text between the first braces that are no allowed variable,
 * of any kind; its ptr is NULL where there are none.  It points into the text.
 */
struct span template_unknown(const char *text, unsigned kinds);
/*
 * The spelling of a variable of the kind up to its argument, "path:"; NULL: it
 * has none.
 */
const char *template_spelling(enum template_kind kind);
/*
 * True where a variable of one of these kinds is in it; of any kind, where they
 * are ~(1u << TEMPLATE_TEXT).
 */
bool template_has(const struct template *t, unsigned kinds);
/*
 * True where the template may become the text: each variable is a run of
 * bytes other than "/", one at least, which goes to values (as many as the
 * template has pieces; those of its text stay as they were).
 */
bool template_match(
    const struct template *t, struct span text, struct span *values);
/* The text with the letter x in the place of each variable. */
char *template_sample(struct arena *arena, const struct template *t);
