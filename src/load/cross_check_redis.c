/* SPDX-License-Identifier: BSD-2-Clause */
#include "load/complaints_private.h"
#include "load/cross_check_private.h"

static bool
has(const struct redis_members *m, const struct option *option)
{
	return loader_value_in(m->object, option) != NULL;
}

static void
check_needed(struct loader *l, const struct redis_members *m,
    const struct option *option, const struct option *needed)
{
	if (has(m, option) && !has(m, needed))
		complaints_at_option(l, m->at, option, "\"%s\" is needed too",
		    needed->path);
}

void
cross_check_redis_ways(struct loader *l, const struct redis_members *m)
{
	const struct option *const ways[] = {
	    m->address, m->cluster, m->sentinels};
	const struct option *first = NULL;
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		if (!has(m, ways[i]))
			continue;
		if (first != NULL)
			complaints_at_option(l, m->at, ways[i],
			    "cannot be combined with \"%s\"", first->path);
		else
			first = ways[i];
	}
	check_needed(l, m, m->sentinels, m->master);
	check_needed(l, m, m->master, m->sentinels);
}

void
cross_check_redis_login(struct loader *l, const struct redis_members *m,
    struct conf_redis *redis, char **password)
{
	const struct option *const both[] = {m->user, m->password};
	for (size_t i = 0; i < 2; i++) {
		if (!has(m, both[i]))
			continue;
		if (redis->managed)
			complaints_at_option(l, m->at, both[i],
			    "the managed Redis takes no user or password");
		else if (l->url_password != NULL)
			complaints_at_option(l, m->at, both[i],
			    "\"%s\" already has a password",
			    m->address->path);
	}
	check_needed(l, m, m->user, m->password);
	if (l->url_password == NULL || has(m, m->user) || has(m, m->password))
		return;
	redis->user = l->url_user;
	*password = l->url_password;
	l->url_user = NULL;
	l->url_password = NULL;
}
