/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/*
 * The table of options (tbl/options.h) as data to walk: what the loader
 * reads by, what frees a configuration, and what the schema and the manual
 * are printed from.  It knows no file and no value.  Constant; any thread.
 */

/* The objects of the file; tbl/options.h says which member is whose. */
enum group {
	GROUP_ROOT,
	GROUP_LISTEN,
	GROUP_ADMIN_TOKEN,
	GROUP_ENCRYPTION_KEY,
	GROUP_UPSTREAM,
	GROUP_ROUTE,
	GROUP_IDEMPOTENCY,
	GROUP_SCOPE,
	GROUP_RECONCILE,
	GROUP_WITNESS,
	GROUP_BROKER,
	GROUP_SOURCE,
	GROUP_RELAY,
	GROUP_COUNT_,
};

enum option_type {
#define TYPE(name, ...) TYPE_##name,
#include "conf/types.h"
#undef TYPE
	TYPE_COUNT_,
};

struct option {
	enum group group;
	const char *path; /* members, with dots between them */
	enum option_type type;
	size_t offset; /* of its field in the group's struct */
	int64_t min;   /* where words is NULL, and max is not 0 */
	int64_t max;
	const char *words; /* what may be chosen; NULL: not a choice */
	bool restart;      /* a reload does not change it */
	const char *sentence;
	const char *preset; /* JSON; "NONE" or "REQUIRED" */
};

/* All of them, in the order of tbl/options.h. */
extern const struct option options[];
extern const size_t n_options;

static inline bool
option_required(const struct option *option)
{
	return !strcmp(option->preset, "REQUIRED");
}

/* The default as JSON; NULL: none. */
static inline const char *
option_preset(const struct option *option)
{
	bool none = option_required(option) || !strcmp(option->preset, "NONE");
	return none ? NULL : option->preset;
}

/* The option of that name, or "section.name"; there is one. */
const struct option *option_of_path(enum group group, const char *path);

/*
 * What a type of conf/types.h has entries of: structs of a group, in a list
 * or, by the names that they begin with, in an object.  A struct that has a
 * name begins with it.
 */
extern const struct option_list {
	enum group group;
	bool named;
	size_t size; /* of a struct; 0: it is no such type */
	const char *own; /* the member that names one in a list; NULL: none */
} option_lists[TYPE_COUNT_];
/* What stands in the struct where the field of such an option is. */
struct option_entries {
	void *entries;
	size_t count;
};

/* What conf/types.h has about each type, for the schema: JSON. */
extern const char *const option_schemas[TYPE_COUNT_];
