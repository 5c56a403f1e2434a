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

static bool
has_topics(const struct conf *conf)
{
	for (size_t i = 0; i < conf->n_sources; i++)
		if (conf->sources[i].broker->kind == BROKER_KAFKA)
			return true;
	return false;
}

static bool
has_positions(const struct conf *conf)
{
	return conf->n_relays > 0 ||
	    (conf->store.events_maxlen > 0 && conf->store.events_refuse);
}

static bool
has_webhooks(const struct conf *conf)
{
	for (size_t i = 0; i < conf->n_relays; i++)
		if (conf->relays[i].kind == RELAY_WEBHOOK)
			return true;
	return false;
}

bool
rights_needed(const struct conf *conf, const struct right *right)
{
	switch (right->when) {
	case RIGHT_WITH_DB:
		return !conf->store.redis.managed && conf->store.redis.db != 0;
	case RIGHT_WITH_EVENTS:
		return conf->store.events_maxlen != 0;
	case RIGHT_WITH_FUNCTION:
		return conf->store.functions;
	case RIGHT_WITH_REPLICAS:
		return conf->store.wait_replicas > 0;
	case RIGHT_WITH_SCRIPT:
		return !conf->store.functions;
	case RIGHT_WITH_CLUSTER:
		return conf->store.redis.cluster.count > 0;
	case RIGHT_WITH_SOURCES:
		return conf->n_sources > 0;
	case RIGHT_WITH_RELAYS:
		return has_positions(conf);
	case RIGHT_WITH_MESSAGES:
		return has_positions(conf) || conf->n_sources > 0;
	case RIGHT_WITH_HASHES:
		return has_positions(conf) || has_topics(conf);
	case RIGHT_WITH_REFUSAL:
		return conf->store.events_maxlen > 0 &&
		    conf->store.events_refuse;
	case RIGHT_WITH_WEBHOOKS:
		return has_webhooks(conf);
	case RIGHT_ALWAYS:
		break;
	}
	return true;
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
rights_rules(const struct conf *conf)
{
	char *keys = rights_keys(conf), *channels = rights_channels(conf);
	char *rules = NULL;
	size_t len;
	FILE *out = open_memstream(&rules, &len);
	must(out != NULL);
	fprintf(out, "%s %s", keys, channels);
	for (size_t i = 0; i < n_rights; i++)
		if (rights_needed(conf, &rights[i]))
			fprintf(out, " +%s", rights[i].name);
	must(fclose(out) == 0);
	free(keys);
	free(channels);
	return rules;
}
