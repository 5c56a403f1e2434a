/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/kinds.h"

/* An object stands for all of its members. */
static const struct {
	enum group group;
	const char *member;
	enum broker_kind kind;
} only[] = {
    {GROUP_BROKER, "redis", BROKER_STREAMS},
    {GROUP_BROKER, "cluster", BROKER_STREAMS},
    {GROUP_BROKER, "sentinels", BROKER_STREAMS},
    {GROUP_BROKER, "master", BROKER_STREAMS},
    {GROUP_BROKER, "user", BROKER_STREAMS},
    {GROUP_BROKER, "tls", BROKER_STREAMS},
    {GROUP_BROKER, "timeout", BROKER_STREAMS},
    {GROUP_BROKER, "postgres", BROKER_POSTGRES},
    {GROUP_SOURCE, "stream", BROKER_STREAMS},
    {GROUP_SOURCE, "group", BROKER_STREAMS},
    {GROUP_SOURCE, "start", BROKER_STREAMS},
    {GROUP_SOURCE, "request.body", BROKER_STREAMS},
    {GROUP_SOURCE, "table", BROKER_POSTGRES},
    {GROUP_SOURCE, "columns", BROKER_POSTGRES},
    {GROUP_SOURCE, "finish", BROKER_POSTGRES},
    {GROUP_SOURCE, "notify", BROKER_POSTGRES},
    {GROUP_SOURCE, "poll", BROKER_POSTGRES},
};

bool
kinds_fit(const struct option *option, enum broker_kind kind)
{
	for (size_t i = 0; i < sizeof only / sizeof *only; i++) {
		size_t len = strlen(only[i].member);
		if (only[i].group == option->group &&
		    !strncmp(option->path, only[i].member, len) &&
		    (option->path[len] == '\0' || option->path[len] == '.'))
			return only[i].kind == kind;
	}
	return true;
}
