/* SPDX-License-Identifier: BSD-2-Clause */
#include <sys/resource.h>

#include "base/loop/log.h"
#include "base/must.h"
#include "conf/conf.h"
#include "operators/commands/descriptors.h"

/* The manual has these sums, too (onceproxy-limits(7), DESCRIPTORS). */
enum {
	/* Standard files, signals, the log, a lock. */
	FOR_PROCESS = 8,
	/* The event loop, libmicrohttpd and the spare one of its acceptor. */
	FOR_LOOP = 8,
	/* Two connections to a Redis, and a subscriber. */
	FOR_NODE = 3,
	/* Servers of a cluster, which may have more than the file names. */
	NODES_OF_CLUSTER = 16,
	FOR_SENTINEL = 2,
	FOR_JOURNAL = 2,
};

/* These are not open all the time. */
enum {
	/* The files of a reload, names that are looked up, tokens' keys. */
	FOR_FILES = 24,
	/* The admin interface's clients (admin/admin.c, CONNECTIONS_MAX). */
	FOR_ADMIN = 64 + 8,
	/* Clients that are being refused (front/acceptor.c). */
	FOR_REFUSALS = 32,
	/* A connection that is made again, and looks up its name. */
	AGAIN = 2,
	/* The thread that adopts journals, and one for each worker. */
	FOR_ADOPTION = 8,
};

int64_t
descriptors_raise(void)
{
	struct rlimit limit;
	must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_max < INT32_MAX ? (int64_t)limit.rlim_max
					  : INT32_MAX;
}

/* Counts connections to Redis; the admin interface has a store, too. */
static int64_t
count_links(const struct conf *conf)
{
	int64_t nodes = (int64_t)conf->store.redis.cluster.count;
	if (nodes == 0)
		nodes = 1;
	else if (nodes < NODES_OF_CLUSTER)
		nodes = NODES_OF_CLUSTER;
	return FOR_NODE * nodes * (conf->workers + 1) +
	    FOR_SENTINEL * (int64_t)conf->store.redis.sentinels.count;
}

/* Counts pools of idle connections, each of one worker to one target. */
static int64_t
count_pools(const struct conf *conf, int64_t *ret_idle)
{
	int64_t pools = 0;
	*ret_idle = 0;
	for (size_t i = 0; i < conf->n_upstreams; i++) {
		const struct conf_upstream *upstream = &conf->upstreams[i];
		int64_t more = conf->workers * (int64_t)upstream->n_targets;
		pools += more;
		*ret_idle += more * upstream->keepalive;
	}
	/* One worker has a relay. */
	for (size_t i = 0; i < conf->n_relays; i++)
		if (conf->relays[i].kind == RELAY_WEBHOOK) {
			pools++;
			*ret_idle += conf->relays[i].receiver.keepalive;
		}
	return pools;
}

/*
 * Where there is too little for all, at most half of those that are not always
 * open are kept in reserve, and a fourth of the rest is for idle connections.
 */
struct descriptors
descriptors_share(const struct conf *conf, int64_t limit)
{
	struct descriptors d = {
	    .limit = limit,
	    .held = FOR_PROCESS + FOR_LOOP * (conf->workers + 1) +
		conf->workers * (FOR_JOURNAL + (int64_t)conf->n_listen) +
		count_links(conf),
	    .reserve = FOR_FILES + FOR_ADMIN +
		FOR_REFUSALS * (conf->workers + 1) +
		AGAIN * count_links(conf) + FOR_ADOPTION +
		FOR_JOURNAL * conf->workers,
	    .idle_each = INT32_MAX,
	    .clients = conf->max_connections,
	};
	int64_t pools = count_pools(conf, &d.idle);
	d.needed = d.held + d.reserve + d.idle + 2 * d.clients;
	if (d.needed <= limit)
		return d;
	int64_t rest = limit > d.held ? limit - d.held : 0;
	if (d.reserve > rest / 2)
		d.reserve = rest / 2;
	rest -= d.reserve;
	if (d.idle > rest / 4) {
		d.idle = rest / 4;
		d.idle_each = d.idle > pools ? d.idle / pools : 1;
	}
	int64_t clients = (rest - d.idle) / 2;
	if (clients < d.clients)
		d.clients = clients > 0 ? clients : 1;
	return d;
}

void
descriptors_log(const struct descriptors *d)
{
	struct logline line = log_begin(EV_descriptors_few);
	log_int(&line, "descriptors", d->limit);
	log_int(&line, "needed", d->needed);
	log_int(&line, "held", d->held);
	log_int(&line, "reserve", d->reserve);
	log_int(&line, "idle", d->idle);
	log_int(&line, "connections", d->clients);
	log_end(&line);
}
