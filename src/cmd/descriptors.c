/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/resource.h>

#include "base/must.h"
#include "cmd/descriptors.h"
#include "conf/conf.h"

int64_t
descriptors_raise(void)
{
	struct rlimit limit;
	must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return (int64_t)limit.rlim_max;
}

int64_t
descriptors_clients(const struct conf *conf, int64_t limit)
{
	return limit / 2 < conf->max_connections ? limit / 2
						 : conf->max_connections;
}
