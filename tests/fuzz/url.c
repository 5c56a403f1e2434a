/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdlib.h>

#include "conf/load/conf_load.h"
#include "fuzz/fuzz.h"

/*
 * URLs of upstreams and of Redis: a target that is accepted can be requested,
 * and the URL that is written of it is read as the same target.
 */
static const struct conf *
load(const char *upstream, const char *redis, struct complaints *complaints)
{
	json_t *json = json_pack("{s:[s], s:{s:s}, s:{s:s}, s:[]}", "listen",
	    "127.0.0.1:1", "upstreams", "u", upstream, "store", "redis", redis,
	    "routes");
	if (json == NULL)
		return NULL; /* it is not UTF-8 */
	char *text = json_dumps(json, JSON_COMPACT);
	const struct conf *conf =
	    conf_load_text("fuzz", span_str(text), false, complaints);

	must((conf == NULL) == (complaints->count > 0));
	free(text);
	json_decref(json);
	return conf;
}

static const struct conf *
load_quietly(const char *upstream, const char *redis)
{
	struct complaints complaints = {NULL, 0};
	const struct conf *conf = load(upstream, redis, &complaints);

	complaints_free(&complaints);
	return conf;
}

static void
is_read_again(const struct conf_target *target)
{
	char *text = target->unix_path
	    ? mem_printf("unix:%s", target->unix_path)
	    : mem_printf("%s://%s%s/", target->tls ? "https" : "http",
		  target->authority, target->base_path);
	const struct conf *conf = load_quietly(text, "managed");
	must(conf != NULL);
	const struct conf_target *again = &conf->upstreams[0].targets[0];

	must(!strcmp(target->host, again->host));
	must(!strcmp(target->authority, again->authority));
	must(!strcmp(target->base_path, again->base_path));
	must(target->port == again->port && target->tls == again->tls);
	must((target->unix_path == NULL) == (again->unix_path == NULL));
	conf_unref(&conf);
	free(text);
}

static void
try_upstream(const char *text)
{
	const struct conf *conf = load_quietly(text, "managed");

	if (conf == NULL)
		return;
	const struct conf_target *target = &conf->upstreams[0].targets[0];
	fuzz_asks(target);
	is_read_again(target);
	conf_unref(&conf);
}

static void
try_redis(const char *text)
{
	const struct conf *conf = load_quietly("http://h", text);

	if (conf == NULL)
		return;
	const struct conf_store *store = &conf->store;
	must(store->redis.db >= 0 && store->redis.db <= 65535);
	if (!store->redis.managed) {
		must(store->redis.address.host &&
		    store->redis.address.host[0] != '\0');
		must((store->redis.address.kind == ADDRESS_UNIX) ==
		    (store->redis.address.port == 0));
		/* The form that is shown has no secret. */
		must(store->redis.password == NULL ||
		    strchr(store->redis.address.text, '@') == NULL);
		if (store->redis.address.kind == ADDRESS_TCP) {
			char *again = mem_printf("redis://%s/%d",
			    store->redis.address.text, (int)store->redis.db);
			const struct conf *other =
			    load_quietly("http://h", again);
			must(other != NULL);
			must(!strcmp(other->store.redis.address.host,
			    store->redis.address.host));
			must(other->store.redis.address.port ==
			    store->redis.address.port);
			must(other->store.redis.db == store->redis.db);
			conf_unref(&other);
			free(again);
		}
	}
	conf_unref(&conf);
}

void
fuzz_url(struct span input)
{
	if (fuzz_has(input, span_of("", 1)))
		return;
	char *text = mem_str(input);
	try_upstream(text);
	try_redis(text);
	free(text);
}
