/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "conf/jsonc/spots.h"

/* The tree of spots, and who reads it from a text. */
struct spots {
	struct arena *arena;
	struct spot_node *root;
};

/* A value. */
struct spot_node {
	struct span name; /* of a member; ptr NULL: of an element */
	struct spot name_at;
	struct spot at;
	bool variable; /* it is a text that has "${", or is "$NAME" */
	struct spot_node *first; /* members or elements */
	struct spot_node *next;
};

struct spots_reader {
	struct arena *arena;
	struct span text;
	const char *at;
	const char *end;
	/* The last place that was asked for. */
	const char *known;
	struct spot known_spot;
	/*
	 * The first bracket whose closing one begins a line of another
	 * indentation: its own may be missing.  NULL: none.
	 */
	const char *doubted;
	struct spots_fault fault; /* words NULL: none yet */
};

/* The place of a byte; asked for in order, it costs nothing twice. */
struct spot spots_text_at(struct spots_reader *r, const char *byte);
/* The first fault is the one that is said; false, for the caller to return. */
bool spots_text_wrong(
    struct spots_reader *r, const char *byte, const char *words);

/* Skips what means nothing; false where a comment is never closed. */
bool spots_text_skip(struct spots_reader *r);
/* Reads a string with its quotes, as it is spelled. */
bool spots_text_string(struct spots_reader *r, struct span *ret_spelled);
/* Whether a quote of a word processor is next. */
bool spots_text_is_typographic(const struct spots_reader *r);
/* Reads a number, true, false or null. */
bool spots_text_word(struct spots_reader *r);
