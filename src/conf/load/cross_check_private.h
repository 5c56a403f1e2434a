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

/* --- members that lead to a Redis, of the store and of a broker --- */

/* The members, and the object of the file that they are of. */
struct redis_members {
	json_t *object;
	const struct json_place *at; /* of the object; NULL: the whole file */
	const struct option *address, *cluster, *sentinels, *master;
	const struct option *user, *password;
	const struct option *ca, *certificate, *key, *server_name;
};

/*
 * Whether the store's object has something wrong that is meant to lead to a
 * Redis other than the managed one.
 */
bool cross_check_redis_is_meant(const struct loader *l);
/* Complains unless there is one way to it at most, and that is complete. */
void cross_check_redis_ways(
    struct loader *l, const struct redis_members *members);
/*
 * User and password come from the URL (the loader's) or from members of their
 * own; fills them in.
 */
void cross_check_redis_login(struct loader *l,
    const struct redis_members *members, struct conf_redis *redis,
    char **password);
/*
 * Whether TLS is spoken, and with what; reads the files.  redis has its address
 * by now.
 */
void cross_check_redis_tls(struct loader *l,
    const struct redis_members *members, struct conf_redis *redis);
