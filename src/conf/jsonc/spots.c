/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/json_pointer.h"
#include "conf/jsonc/spots_private.h"

void
spots_free(struct spots **spots)
{
	if (*spots == NULL)
		return;
	arena_free(&(*spots)->arena);
	free(*spots);
	*spots = NULL;
}

struct spot
spots_of_byte(struct span text, size_t at)
{
	struct spots_reader r = {
	    .text = text, .known = text.ptr, .known_spot = {1, 1}};
	return spots_text_at(&r, text.ptr + at);
}

/* --- the way of a pointer --- */

static const struct spot_node *
last_member(const struct spot_node *node, struct span name)
{
	const struct spot_node *found = NULL;
	for (const struct spot_node *n = node->first; n != NULL; n = n->next)
		if (n->name.ptr != NULL && span_eq(n->name, name))
			found = n;
	return found;
}

static const struct spot_node *
element(const struct spot_node *node, struct span segment)
{
	int64_t index;
	const struct spot_node *n = node->first;
	if (n == NULL || n->name.ptr != NULL ||
	    !digits_read(segment, INT64_MAX, &index))
		return NULL;
	while (n != NULL && index-- > 0)
		n = n->next;
	return n;
}

/* The innermost value on a pointer's way; *ret_whole: it leads there. */
static const struct spot_node *
follow(const struct spots *spots, const char *pointer, bool *ret_whole)
{
	struct json_pointer way = {NULL, 0};
	const struct spot_node *node = spots->root;
	size_t i = 0;
	*ret_whole = strcmp(pointer, "/") == 0;
	if (*ret_whole || !json_pointer_read(span_str(pointer), &way))
		return node;
	for (; i < way.count; i++) {
		const struct spot_node *next =
		    last_member(node, way.segments[i]);
		if (next == NULL)
			next = element(node, way.segments[i]);
		if (next == NULL)
			break;
		node = next;
	}
	*ret_whole = i == way.count;
	json_pointer_clear(&way);
	return node;
}

struct spot
spots_find(const struct spots *spots, const char *pointer, bool name)
{
	bool whole;
	const struct spot_node *node = follow(spots, pointer, &whole);
	return name && whole && node->name.ptr != NULL ? node->name_at
						       : node->at;
}

bool
spots_has(const struct spots *spots, const char *pointer)
{
	bool whole;
	(void)follow(spots, pointer, &whole);
	return whole;
}

/* --- all there is, from the outside in --- */

struct way {
	const struct way *up;
	const struct spot_node *node;
	size_t index;
};

static void
write_way(FILE *out, const struct way *way)
{
	if (way == NULL)
		return;
	write_way(out, way->up);
	if (way->node->name.ptr != NULL)
		json_pointer_write(out, way->node->name);
	else
		fprintf(out, "/%zu", way->index);
}

/* The caller frees it. */
static char *
way_pointer(const struct way *way)
{
	char *pointer = NULL;
	size_t len;
	FILE *out = open_memstream(&pointer, &len);
	must(out != NULL);
	write_way(out, way);
	must(fclose(out) == 0);
	return pointer;
}

/* --- members that are there twice --- */

struct twice {
	void (*each)(void *arg, const char *pointer, struct spot first);
	void *arg;
};

static void
tell_twice(const struct twice *visit, const struct spot_node *node,
    const struct way *way)
{
	const struct spot_node *first = node->first;
	char *pointer = way_pointer(way);
	while (!span_eq(first->name, way->node->name))
		first = first->next;
	visit->each(visit->arg, pointer, first->name_at);
	free(pointer);
}

static void
walk_twice(const struct twice *visit, const struct spot_node *node,
    const struct way *up)
{
	json_t *seen = node->first != NULL ? json_object() : NULL;
	size_t index = 0;
	for (const struct spot_node *n = node->first; n != NULL; n = n->next) {
		struct way way = {up, n, index++};
		if (n->name.ptr != NULL) {
			if (json_object_get(seen, n->name.ptr) != NULL)
				tell_twice(visit, node, &way);
			must(json_object_set_new_nocheck(
				 seen, n->name.ptr, json_true()) == 0);
		}
		walk_twice(visit, n, &way);
	}
	json_decref(seen);
}

void
spots_each_twice(const struct spots *spots,
    void (*each)(void *arg, const char *pointer, struct spot first),
    void *arg)
{
	struct twice visit = {each, arg};
	walk_twice(&visit, spots->root, NULL);
}

/* --- texts that look as if something were replaced --- */

struct visit {
	void (*each)(void *arg, const char *pointer);
	void *arg;
};

static void
walk_variables(const struct visit *visit, const struct spot_node *node,
    const struct way *up)
{
	size_t index = 0;
	for (const struct spot_node *n = node->first; n != NULL; n = n->next) {
		struct way way = {up, n, index++};
		if (n->variable) {
			char *pointer = way_pointer(&way);
			visit->each(visit->arg, pointer);
			free(pointer);
		}
		walk_variables(visit, n, &way);
	}
}

void
spots_each_variable(const struct spots *spots,
    void (*each)(void *arg, const char *pointer), void *arg)
{
	struct visit visit = {each, arg};
	walk_variables(&visit, spots->root, NULL);
}
