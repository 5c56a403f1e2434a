/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/*
 * What one member alone does not show: members that exclude or need each
 * other, names that must differ, and values that follow from others.  Main
 * thread.
 */

/* Checks the whole configuration, and fills in what follows. */
void cross_check_conf(struct loader *l);
/* The same for one object of idempotency. */
void cross_check_policy(struct loader *l, const struct json_place *at,
    struct conf_idempotency *policy);
/* The object of that group, at that place, by tbl/option_pairs.h. */
void cross_check_pairs(struct loader *l, enum group group,
    const struct json_place *at, json_t *object);

/* The members that lead to a Redis, of the store or of a broker. */
struct redis_members {
	enum group group;
	const char *prefix; /* of their paths: "store." or "" */
	json_t *object;
	const struct json_place *at; /* of the object; NULL: the whole file */
	struct conf_redis *redis;
};

/*
 * How it is logged in to, by the URL (the loader's) or members of their own,
 * and whether TLS is spoken, whose files are read.
 */
void cross_check_redis(
    struct loader *l, const struct redis_members *members, char **password);
