/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/load/certificates.h"
#include "conf/load/complaints_private.h"
#include "conf/load/cross_check_private.h"

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

bool
cross_check_redis_is_meant(const struct loader *l)
{
	json_t *store = json_object_get(l->root, "store");
	const char *text = json_string_value(json_object_get(store, "redis"));
	bool meant = text != NULL && strcmp(text, "managed") != 0;
	/* Under a name that there is not, too. */
	for (size_t i = 0; i < l->n_alone && !meant; i++)
		meant = l->complaints->list[i].of_name &&
		    !strncmp(l->complaints->list[i].pointer, "/store/", 7);
	return meant;
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
			    "cannot be combined with \"%s\": leave one "
			    "of them out", first->path);
		else
			first = ways[i];
	}
	/* Beside another way, that is the mistake. */
	if (first == m->sentinels)
		check_needed(l, m, m->sentinels, m->master);
	if (first == NULL)
		check_needed(l, m, m->master, m->sentinels);
	else if (has(m, m->master) && !has(m, m->sentinels))
		complaints_at_option(l, m->at, m->master,
		    "cannot be combined with \"%s\": leave one "
		    "of them out", first->path);
}

/* The URL has a user, whose password is the member. */
static void
check_url_user(struct loader *l, const struct redis_members *m,
    struct conf_redis *redis)
{
	if (has(m, m->user))
		complaints_at_option(l, m->at, m->user,
		    "\"%s\" already has a user: leave one of them out",
		    m->address->path);
	else if (!has(m, m->password))
		complaints_at_option(l, m->at, m->address,
		    "a user needs a password: redis://USER:PASSWORD@HOST, or "
		    "the member \"%s\"", m->password->path);
	else {
		redis->user = l->url_user;
		l->url_user = NULL;
	}
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
			    "\"%s\" already has a password: leave this out",
			    m->address->path);
	}
	if (l->url_user == NULL && l->url_password == NULL)
		check_needed(l, m, m->user, m->password);
	if (l->url_user != NULL && l->url_password == NULL)
		check_url_user(l, m, redis);
	if (l->url_password == NULL || has(m, m->user) || has(m, m->password))
		return;
	redis->user = l->url_user;
	*password = l->url_password;
	l->url_user = NULL;
	l->url_password = NULL;
}

/* The object that an option is a member of; NULL: the file has none. */
static json_t *
object_of(const struct redis_members *m, const struct option *option)
{
	struct option object = *option;
	char *path = mem_str(span_str(option->path));
	*strrchr(path, '.') = '\0';
	object.path = path;
	json_t *value = loader_value_in(m->object, &object);
	free(path);
	return value;
}

void
cross_check_redis_tls(struct loader *l, const struct redis_members *m,
    struct conf_redis *redis)
{
	const struct option *const all[] = {
	    m->ca, m->certificate, m->key, m->server_name};
	bool many = redis->cluster.count > 0 || redis->sentinels.count > 0;
	if (many && object_of(m, m->ca) != NULL)
		redis->tls.on = true;
	/* Otherwise it has been complained about, and may have meant TLS. */
	bool known = redis->managed || redis->address.text != NULL || many;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (known && !redis->tls.on && has(m, all[i]))
			complaints_at_option(l, m->at, all[i],
			    "only \"rediss://...\", a cluster and Sentinels "
			    "have this: where that Redis speaks TLS, its URL "
			    "begins with \"rediss://\"");
	check_needed(l, m, m->certificate, m->key);
	check_needed(l, m, m->key, m->certificate);
	if (redis->tls.on)
		certificates_load_redis(
		    l, m->at, m->ca, m->certificate, m->key, &redis->tls);
}
