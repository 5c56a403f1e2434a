/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/address.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/doctor_sentinel_private.h"
#include "store/redis/info.h"

static const char unused[] = "the configuration names no Sentinels";

static char *
pointer_of(size_t index)
{
	return mem_printf("/store/sentinels/%zu", index);
}

/* What an administrator asks it. */
static char *
question_for(const struct conf *conf, size_t index)
{
	char *host, *command;
	uint16_t port;
	address_split(conf->store.redis.sentinels.list[index], &host, &port);
	char *master = shell_quote(conf->store.redis.master);
	command = mem_printf(
	    "redis-cli -h %s -p %u SENTINEL MASTER %s", host, port, master);
	free(host);
	free(master);
	return command;
}

void
doctor_sentinel_lost(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	if (!conf_has_sentinels(conf)) {
		findings_add_well(doctor, FINDING_sentinel_lost,
		    mem_str(span_str(unused)));
		return;
	}
	for (size_t i = 0; i < conf->store.redis.sentinels.count; i++) {
		const char *message = doctor->sentinels[i].message;
		if (message == NULL)
			continue;
		char *where = pointer_of(i);
		findings_add(doctor, FINDING_sentinel_lost, where,
		    mem_printf(
			"%s: %s", conf->store.redis.sentinels.list[i], message),
		    question_for(conf, i));
		free(where);
	}
}

static size_t
count_naming(const struct doctor *doctor)
{
	size_t naming = 0;
	for (size_t i = 0; i < doctor->conf->store.redis.sentinels.count; i++)
		naming += doctor->sentinels[i].message == NULL;
	return naming;
}

void
doctor_sentinel_few(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	size_t count = conf->store.redis.sentinels.count;
	if (count == 0) {
		findings_add_well(doctor, FINDING_sentinels_few,
		    mem_str(span_str(unused)));
		return;
	}
	size_t naming = count_naming(doctor);
	if (naming <= count / 2)
		findings_add(doctor, FINDING_sentinels_few,
		    "/store/sentinels",
		    mem_printf("%zu of %zu", naming, count), NULL);
}

void
doctor_sentinel_behind(struct doctor *doctor)
{
	const struct conf *conf = doctor->conf;
	struct sentinel_named believed;
	if (!conf_has_sentinels(conf)) {
		findings_add_well(doctor, FINDING_sentinel_behind,
		    mem_str(span_str(unused)));
		return;
	}
	if (!sentinel_query_agrees(
		&conf->store.redis, doctor->sentinels, &believed)) {
		findings_add_skipped(doctor, FINDING_sentinel_behind,
		    "no Sentinel names the master");
		return;
	}
	for (size_t i = 0; i < conf->store.redis.sentinels.count; i++) {
		const struct sentinel_answer *seen = &doctor->sentinels[i];
		if (seen->message != NULL ||
		    sentinel_protocol_named_is_same(&seen->named, &believed))
			continue;
		char *where = pointer_of(i);
		findings_add(doctor, FINDING_sentinel_behind, where,
		    mem_printf("%s names %s:%u, others name %s:%u",
			conf->store.redis.sentinels.list[i], seen->named.host,
			seen->named.port, believed.host, believed.port),
		    question_for(conf, i));
		free(where);
	}
}

/* --- the master --- */

static char *
place_of_master(const struct doctor *doctor, struct span info)
{
	const struct conf_redis *redis = &doctor->conf->store.redis;
	const struct address *at = &redis->address;
	struct sentinel_named named;
	if (conf_has_sentinels(doctor->conf) &&
	    sentinel_query_agrees(redis, doctor->sentinels, &named))
		return mem_printf("%s %u", named.host, named.port);
	char *port = mem_str(info_value(info, SPAN("tcp_port")));
	/* One that listens on a socket alone has to be given a port first. */
	char *place = at->kind == ADDRESS_TCP
	    ? mem_printf("%s %u", at->host, at->port)
	    : mem_printf("HOST-OF-THIS-ONE %s",
		  strcmp(port, "0") ? port : "PORT-OF-THIS-ONE");
	free(port);
	return place;
}

char *
doctor_sentinel_replicaof(const struct doctor *doctor, struct span info)
{
	const struct conf_redis *redis = &doctor->conf->store.redis;
	char *place = place_of_master(doctor, info);
	/* Else it speaks plainly to a port with TLS, or is not let in. */
	char *words = mem_printf("%s%s%s", place,
	    redis->tls.on ? " and tls-replication yes" : "",
	    redis->password != NULL ? " and masterauth PASSWORD" : "");
	free(place);
	return words;
}
