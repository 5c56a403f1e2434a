/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/complaints.h"
#include "conf/conf.h"
#include "conf/option.h"

/*
 * What is known while one configuration is loaded, and only in load/: where
 * we are in the file, what it has, and what was found wrong.  A value that is
 * wrong is complained about (load/complaints_private.h) and its field left
 * as it was; loading goes on, so that all that is wrong is found in one go.
 * Main thread.
 */

/* A place in the file: a member or an element of the one it stands in. */
struct json_place {
	const struct json_place *up; /* NULL: it stands in the whole file */
	const char *member;          /* NULL: an element */
	size_t index;
};

struct loader {
	struct conf *conf; /* in the making */
	struct complaints *complaints;
	size_t n_alone;  /* how many are about a value by itself */
	bool only_admin; /* for conf_load_admin */
	json_t *root; /* of the file; borrowed, like all values */
	/* From the URL of the server that is read; the file must not differ. */
	char *url_user;
	char *url_password; /* of base/secret.h */
};

/* A value on its way into the field of an option. */
struct given {
	const struct option *option;
	const struct json_place *at; /* NULL: the whole file */
	json_t *value;
	void *base; /* the struct of the option's group */
};

static inline void *
given_field(const struct given *given)
{
	return (char *)given->base + given->option->offset;
}

/* What the file has for an option of the whole file; NULL: nothing. */
json_t *loader_value(const struct loader *l, const struct option *option);
/* The same of an object of the option's group, which may be NULL. */
json_t *loader_value_in(json_t *object, const struct option *option);
