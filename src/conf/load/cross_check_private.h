/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * What one member alone does not show: members that exclude or need each
 * other, names that must differ, and values that follow from others.  Main
 * thread.
 */

/* Checks the rest but for messages; fills in what follows. */
void cross_check_conf(struct loader *l);
/* Fills in what the file leaves out and the machine says. */
void cross_check_fill_in(struct loader *l);
/* The object of that group, at that place, by tbl/option_pairs.h. */
void cross_check_pairs(struct loader *l, enum group group,
    const struct json_place *at, json_t *object);

/* The members that lead to a Redis, of the store or of a broker. */
struct redis_members {
	const char *prefix; /* of them in words: "store." or "" */
	json_t *object;     /* that has them; NULL: there is none */
	const struct json_place *at; /* of the object */
	struct conf_redis *redis;
};

/*
 * How it is logged in to, by the URL (the loader's) or members of their own,
 * and whether TLS is spoken, whose files are read.
 */
void cross_check_redis(
    struct loader *l, const struct redis_members *members, char **password);
