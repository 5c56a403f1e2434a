/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/kinds.h"

enum {
	STREAMS = 1 << BROKER_STREAMS,
	POSTGRES = 1 << BROKER_POSTGRES,
	KAFKA = 1 << BROKER_KAFKA,
};

const struct kind_words kinds_all[BROKER_KIND_COUNT_] = {
    [BROKER_STREAMS] = {"Redis", "redis", "stream", "stream", TYPE_TEXT},
    [BROKER_POSTGRES] = {"PostgreSQL", "postgres", "table", "table",
	TYPE_TABLE},
    [BROKER_KAFKA] = {"Kafka", "kafka", "topics", "topic", TYPE_TOPIC},
};

/* An object stands for all of its members. */
static const struct {
	enum group group;
	const char *member;
	unsigned kinds;
} only[] = {
    {GROUP_BROKER, "redis", STREAMS},
    {GROUP_BROKER, "cluster", STREAMS},
    {GROUP_BROKER, "sentinels", STREAMS},
    {GROUP_BROKER, "master", STREAMS},
    {GROUP_BROKER, "user", STREAMS},
    {GROUP_BROKER, "tls", STREAMS},
    {GROUP_BROKER, "timeout", STREAMS},
    {GROUP_BROKER, "postgres", POSTGRES},
    {GROUP_BROKER, "password", STREAMS | POSTGRES},
    {GROUP_BROKER, "kafka", KAFKA},
    {GROUP_BROKER, "settings", KAFKA},
    {GROUP_SOURCE, "stream", STREAMS},
    {GROUP_SOURCE, "topics", KAFKA},
    {GROUP_SOURCE, "group", STREAMS | KAFKA},
    {GROUP_SOURCE, "start", STREAMS | KAFKA},
    {GROUP_SOURCE, "request.body", STREAMS},
    {GROUP_SOURCE, "table", POSTGRES},
    {GROUP_SOURCE, "columns", POSTGRES},
    {GROUP_SOURCE, "finish", POSTGRES},
    {GROUP_SOURCE, "notify", POSTGRES},
    {GROUP_SOURCE, "poll", POSTGRES},
    {GROUP_SOURCE, "nulls", POSTGRES | KAFKA},
    {GROUP_RELAY, "table", POSTGRES},
    {GROUP_RELAY, "topic", KAFKA},
};

unsigned
kinds_of(const struct option *option)
{
	for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
		size_t len = strlen(only[i].member);
		if (only[i].group == option->group &&
		    !strncmp(option->path, only[i].member, len) &&
		    (option->path[len] == '\0' || option->path[len] == '.'))
			return only[i].kinds;
	}
	return STREAMS | POSTGRES | KAFKA;
}

bool
kinds_fit(const struct option *option, enum broker_kind kind)
{
	return (kinds_of(option) & 1u << kind) != 0;
}

const struct option *
kinds_place(enum group group, enum broker_kind kind)
{
	const struct kind_words *words = &kinds_all[kind];
	if (group == GROUP_SOURCE)
		return option_of_path(group, words->read);
	return kind != BROKER_STREAMS ? option_of_path(group, words->put)
				      : NULL;
}

const char *
kinds_words(const struct option *option)
{
	unsigned bits = kinds_of(option);
	for (unsigned k = 0; k < BROKER_KIND_COUNT_; k++)
		if (bits == 1u << k)
			return kinds_all[k].name;
	if (bits == (STREAMS | KAFKA))
		return "Redis or Kafka";
	return bits == (POSTGRES | KAFKA) ? "PostgreSQL or Kafka"
					  : "Redis or PostgreSQL";
}
