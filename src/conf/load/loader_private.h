/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/arena.h"
#include "conf/complaints.h"
#include "conf/conf.h"
#include "conf/option.h"

/*
 * What is known while one configuration is loaded, and only in load/: where
 * we are in the file, what it has, and what was found wrong.  A value that is
 * wrong is complained about (conf/complaints.h) and its field left as it was;
 * loading goes on, so that all that is wrong is found in one go.
 * Main thread.
 */

struct loader {
	struct conf *conf; /* in the making */
	struct complaints *complaints;
	size_t n_alone;  /* how many are about a value by itself */
	json_t *root; /* of the file; borrowed, like all values */
};

/*
 * Complains about a member of the object at that place, which has that path
 * there; of none, about what stands there, or (NULL) about the whole file.
 */
#define complaints_at_member(l, at, path, ...) \
	complaints_add( \
	    (l)->complaints, complaints_pointer(at, path), __VA_ARGS__)
#define complaints_at(l, at, ...) \
	complaints_at_member(l, at, NULL, __VA_ARGS__)
/* Complains about the name of the member at that place. */
#define complaints_at_name(l, at, ...) \
	(complaints_at(l, at, __VA_ARGS__)->of_name = true)
/*
 * Whether what the file says of a member of a route's `idempotency` is wrong by
 * itself, so that what is found wrong beside others would only follow.
 */
bool loader_wrong_alone(const struct loader *l,
    const struct conf_route *route, const char *path);

/* A value on its way into the field of an option. */
struct given {
	const struct option *option;
	const struct json_place *at; /* NULL: the whole file */
	json_t *value;
	void *base;  /* the struct of the option's group */
	void *field; /* there */
};

/* Zeroed memory that lives as long as the configuration. */
static inline void *
loader_alloc(struct loader *l, size_t bytes)
{
	return arena_alloc(l->conf->arena, bytes);
}

/* The same with a copy of a text. */
static inline char *
loader_str(struct loader *l, const char *text)
{
	return arena_str(l->conf->arena, span_str(text));
}

char *loader_printf(struct loader *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* What is freed with the configuration. */
void loader_own(struct loader *l, void *what, void (*free_it)(void *what));
/* The same of what others may still use then (base/swappable.h). */
struct swappable *loader_swappable(
    struct loader *l, void *object, void (*free_object)(void *object));

/* What an object (or NULL) has at a path such as "tls.ca"; NULL: nothing. */
json_t *loader_value(json_t *object, const char *path);

/* The functions that read a value of each type into its field. */
#define TYPE(name, ctype, parse, show, ...) \
	void parse(struct loader *l, const struct given *given);
#include "conf/types.h"
#undef TYPE
