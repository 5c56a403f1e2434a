/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/address.h"
#include "operators/commands/admin_api.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"
#include "store/redis/redis_error.h"

/* --- Sentinels --- */

static void
judge_sentinel(struct doctor *doctor, size_t index,
    const struct sentinel_answer *seen, const struct sentinel_named *believed)
{
	const struct conf_redis *at = &doctor->conf->store.redis;
	const char *place = at->sentinels.list[index];
	char *host, *master = shell_quote(at->master);
	uint16_t port;
	address_split(place, &host, &port);
	char *where = mem_printf("/store/sentinels/%zu", index);
	/* What an administrator asks it. */
	char *question = mem_printf(
	    "redis-cli -h %s -p %u SENTINEL MASTER %s", host, port, master);
	if (seen->message != NULL)
		findings_add(doctor, FINDING_sentinel_lost, where,
		    mem_printf("%s: %s", place, seen->message),
		    mem_text(question));
	else if (!sentinel_protocol_named_is_same(&seen->named, believed))
		findings_add(doctor, FINDING_sentinel_behind, where,
		    mem_printf("%s names %s:%u, others name %s:%u", place,
			seen->named.host, seen->named.port, believed->host,
			believed->port),
		    mem_text(question));
	free(question);
	free(where);
	free(host);
	free(master);
}

/* The master that a gateway would believe in stays in doctor. */
static void
look_at_sentinels(struct doctor *doctor)
{
	const struct conf_redis *at = &doctor->conf->store.redis;
	size_t count = at->sentinels.count, naming = 0;
	if (count == 0)
		return;
	struct sentinel_answer *seen =
	    servers_sentinels(doctor->conf, at, &doctor->master);
	for (size_t i = 0; i < count; i++) {
		naming += seen[i].message == NULL;
		judge_sentinel(doctor, i, &seen[i], &doctor->master);
	}
	if (naming <= count / 2)
		findings_add(doctor, FINDING_sentinels_few, "/store/sentinels",
		    mem_printf("%zu of %zu", naming, count), NULL);
	if (doctor->master.host[0] == '\0')
		findings_skip(doctor, FINDING_sentinel_behind,
		    "no Sentinel names the master");
	servers_free_sentinels(at, &seen);
}

/* --- its Redis --- */

/*
 * Of a Redis, or else a cluster, which server has our slots.  Where our user
 * may not ask who the masters are, or the server is too old to say, the seed
 * says what else there is.
 */
static void
look_at_cluster(struct doctor *doctor)
{
	static const char pointer[] = "/store/cluster";
	const struct conf_redis *at = &doctor->conf->store.redis;
	struct cluster_masters masters;
	struct cluster_master seed = {0};
	char *message;
	if (servers_cluster(doctor->conf, &masters, &message)) {
		for (size_t i = 0; i < masters.count; i++) {
			const struct redis_address *to = &masters.list[i].place;
			char *place = mem_printf("%s:%u", to->host, to->port);
			doctor->place = place;
			findings_cli(doctor, at, to->host, to->port);
			if (!masters.serve)
				findings_add(doctor, FINDING_cluster_fails,
				    pointer, NULL, mem_text(place));
			look_redis(doctor, pointer, &masters, &masters.list[i]);
			doctor->place = NULL;
			free(place);
		}
		servers_free_cluster(&masters);
		return;
	}
	enum redis_error why = redis_error_of(span_str(message));
	if (why == REDIS_ERROR_NOPERM || why == REDIS_ERROR_ERR) {
		address_split(at->cluster.list[0], &seed.place.host,
		    &seed.place.port);
		look_redis(doctor, pointer, NULL, &seed);
		redis_address_clear(&seed.place);
	} else {
		look_redis_unseen(doctor, pointer, message);
	}
	free(message);
}

/* A gateway that runs may have an older secret than the file that we read. */
static void
look_at_gateway(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	const struct address *at = &conf->admin;
	json_t *status = NULL;
	char *message = NULL;
	long code;
	if (conf->store.redis.password == NULL || at->text == NULL ||
	    (at->kind == ADDRESS_TCP && at->port == 0) ||
	    findings_has(doctor, FINDING_redis_login))
		return;
	if (!admin_api_send(
		conf, "GET", "/status", NULL, &code, &status, &message)) {
		free(message);
		return;
	}
	const char *error = json_string_value(
	    json_object_get(json_object_get(status, "store"), "error"));
	if (error != NULL && redis_error_is_login(span_str(error)))
		findings_add(doctor, FINDING_login_old, "/store/password",
		    mem_text(error), NULL);
	json_decref(status);
}

void
look_store(struct doctor *doctor)
{
	const struct conf_redis *at = &doctor->conf->store.redis;
	look_at_sentinels(doctor);
	const char *host = doctor->master.host;
	findings_cli(doctor, at, *host ? host : NULL, doctor->master.port);
	if (at->cluster.count > 0)
		look_at_cluster(doctor);
	else
		look_redis(doctor,
		    at->sentinels.count > 0 ? "/store/sentinels"
					    : "/store/redis",
		    NULL, NULL);
	look_at_gateway(doctor);
}
