/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "operators/probe/rights.h"

const struct right rights[] = {
#define RIGHT(name, when, probe, message) {name, probe, message},
#include "tbl/rights.h"
#undef RIGHT
};
const size_t n_rights = sizeof rights / sizeof *rights;

bool
rights_needed(const struct conf *conf, size_t index)
{
	const struct conf_store *store = &conf->store;
	bool topics = false, webhooks = false;
	for (size_t i = 0; i < conf->n_sources; i++)
		topics |= conf->sources[i].broker->kind == BROKER_KAFKA;
	for (size_t i = 0; i < conf->n_relays; i++)
		webhooks |= conf->relays[i].kind == RELAY_WEBHOOK;
	/* The words of the table. */
	bool always = true, events = store->events_maxlen > 0;
	bool database = !store->redis.managed && store->redis.db != 0;
	bool function = store->functions, script = !function;
	bool replicas = store->wait_replicas > 0;
	bool cluster = store->redis.cluster.count > 0;
	bool refusal = events && store->events_refuse;
	bool relays = conf->n_relays > 0 || refusal;
	bool sources = conf->n_sources > 0, messages = relays || sources;
	bool hashes = relays || topics;
	const bool needed[] = {
#define RIGHT(name, when, probe, message) when,
#include "tbl/rights.h"
#undef RIGHT
	};
	return needed[index];
}

void
rights_patterns(const struct conf *conf, char **ret_keys, char **ret_channels)
{
	*ret_keys = mem_printf("~%s:*", conf->store.prefix);
	/* A user may PSUBSCRIBE only to one that its ACL has literally. */
	*ret_channels = mem_printf("&%s:{*}:changes", conf->store.prefix);
}

char *
rights_acl(const struct conf *conf)
{
	const char *user = conf->store.redis.user;
	char *line = NULL, *keys, *channels;
	rights_patterns(conf, &keys, &channels);
	FILE *out = mem_stream(&line);
	fprintf(out,
	    "ACL SETUSER %s on >PASSWORD resetkeys resetchannels "
	    "-@all %s %s",
	    user ? user : "onceproxy", keys, channels);
	for (size_t i = 0; i < n_rights; i++)
		if (rights_needed(conf, i))
			fprintf(out, " +%s", rights[i].name);
	must(fclose(out) == 0);
	free(keys);
	free(channels);
	return line;
}
