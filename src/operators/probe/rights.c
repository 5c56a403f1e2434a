/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "operators/probe/rights.h"

const struct right rights[] = {
#define RIGHT(name, when, probe, message) {name, probe, message, RIGHT_##when},
#include "tbl/rights.h"
#undef RIGHT
};
const size_t n_rights = sizeof rights / sizeof *rights;

bool
rights_needed(const struct conf *conf, const struct right *right)
{
	const struct conf_store *store = &conf->store;
	bool sources = conf->n_sources > 0, topics = false, webhooks = false;
	bool refuses = store->events_maxlen > 0 && store->events_refuse;
	bool positions = conf->n_relays > 0 || refuses;
	for (size_t i = 0; i < conf->n_sources; i++)
		topics |= conf->sources[i].broker->kind == BROKER_KAFKA;
	for (size_t i = 0; i < conf->n_relays; i++)
		webhooks |= conf->relays[i].kind == RELAY_WEBHOOK;
	const bool needed[] = {
	    [RIGHT_ALWAYS] = true,
	    [RIGHT_WITH_DB] = !store->redis.managed && store->redis.db != 0,
	    [RIGHT_WITH_EVENTS] = store->events_maxlen != 0,
	    [RIGHT_WITH_FUNCTION] = store->functions,
	    [RIGHT_WITH_REPLICAS] = store->wait_replicas > 0,
	    [RIGHT_WITH_SCRIPT] = !store->functions,
	    [RIGHT_WITH_CLUSTER] = store->redis.cluster.count > 0,
	    [RIGHT_WITH_SOURCES] = sources,
	    [RIGHT_WITH_RELAYS] = positions,
	    [RIGHT_WITH_MESSAGES] = positions || sources,
	    [RIGHT_WITH_HASHES] = positions || topics,
	    [RIGHT_WITH_WEBHOOKS] = webhooks,
	    [RIGHT_WITH_REFUSAL] = refuses,
	};
	return needed[right->when];
}

char *
rights_keys(const struct conf *conf)
{
	return mem_printf("~%s:*", conf->store.prefix);
}

/* A user may PSUBSCRIBE only to a pattern that its ACL has literally. */
char *
rights_channels(const struct conf *conf)
{
	return mem_printf("&%s:{*}:changes", conf->store.prefix);
}

char *
rights_acl(const struct conf *conf)
{
	const char *user = conf->store.redis.user;
	char *keys = rights_keys(conf), *channels = rights_channels(conf);
	char *line = NULL;
	size_t len;
	FILE *out = open_memstream(&line, &len);
	must(out != NULL);
	fprintf(out,
	    "ACL SETUSER %s on >PASSWORD resetkeys resetchannels "
	    "-@all %s %s",
	    user ? user : "onceproxy", keys, channels);
	for (size_t i = 0; i < n_rights; i++)
		if (rights_needed(conf, &rights[i]))
			fprintf(out, " +%s", rights[i].name);
	must(fclose(out) == 0);
	free(keys);
	free(channels);
	return line;
}
