/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "load/complaints_private.h"
#include "load/duplicates_private.h"

/*
 * jansson either stops at the first duplicate member, without its pointer,
 * or keeps the last and says nothing.  So the text is walked once more; that
 * it is JSON is known by then, which keeps the walk short.
 */
struct walk {
	struct loader *l;
	struct span rest;
};

static void walk_value(struct walk *walk, const struct json_place *at);

/* The next byte that means something; it stays where it is. */
static char
next_byte(struct walk *walk)
{
	while (walk->rest.len > 0 &&
	       memchr(" \t\r\n", walk->rest.ptr[0], 4) != NULL)
		walk->rest = span_from(walk->rest, 1);
	must(walk->rest.len > 0);
	return walk->rest.ptr[0];
}

/* True, and one byte further, where the next is c. */
static bool
walk_over(struct walk *walk, char c)
{
	if (next_byte(walk) != c)
		return false;
	walk->rest = span_from(walk->rest, 1);
	return true;
}

/* A string with its quotes, as it is spelled. */
static struct span
walk_string(struct walk *walk)
{
	must(next_byte(walk) == '"');
	size_t len = 1;
	while (walk->rest.ptr[len] != '"') {
		len += walk->rest.ptr[len] == '\\' ? 2 : 1;
		must(len < walk->rest.len);
	}
	struct span string = span_of(walk->rest.ptr, len + 1);
	walk->rest = span_from(walk->rest, len + 1);
	return string;
}

static void
walk_member(struct walk *walk, const struct json_place *up, json_t *seen)
{
	struct span spelled = walk_string(walk);
	json_t *name =
	    json_loadb(spelled.ptr, spelled.len, JSON_DECODE_ANY, NULL);
	must(name != NULL);

	struct json_place at = {up, json_string_value(name), 0};
	if (json_object_get(seen, at.member) != NULL)
		complaints_at(walk->l, &at, "appears twice");
	must(json_object_set_new(seen, at.member, json_true()) == 0);
	must(walk_over(walk, ':'));
	walk_value(walk, &at);
	json_decref(name);
}

static void
walk_value(struct walk *walk, const struct json_place *at)
{
	if (walk_over(walk, '{')) {
		json_t *seen = json_object();
		while (!walk_over(walk, '}')) {
			walk_member(walk, at, seen);
			(void)walk_over(walk, ',');
		}
		json_decref(seen);
	} else if (walk_over(walk, '[')) {
		for (size_t i = 0; !walk_over(walk, ']'); i++) {
			struct json_place element = {at, NULL, i};
			walk_value(walk, &element);
			(void)walk_over(walk, ',');
		}
	} else if (next_byte(walk) == '"') {
		(void)walk_string(walk);
	} else {
		while (memchr(",]} \t\r\n", walk->rest.ptr[0], 7) == NULL)
			walk->rest = span_from(walk->rest, 1);
	}
}

void
duplicates_complain(struct loader *l, struct span text)
{
	struct walk walk = {l, text};
	walk_value(&walk, NULL);
}
