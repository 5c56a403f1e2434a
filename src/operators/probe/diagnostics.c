/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "operators/probe/cluster_query.h"
#include "operators/probe/diagnostics.h"
#include "operators/probe/diagnostics_server.h"
#include "operators/probe/rights.h"
#include "store/redis/redis_error.h"

/* Notes why the masters of a cluster cannot be examined; takes message. */
static void
note_unseen(
    const struct conf *conf, struct diagnostics *seen, char *message)
{
	enum redis_error why = redis_error_of(span_str(message));
	struct cluster_master seed = {0};
	if (why == REDIS_ERROR_NOPERM &&
	    redis_address_read(
		span_str(conf->store.redis.cluster.list[0]), &seed.place)) {
		/* Our user may not ask who they are: a seed says what else. */
		diagnostics_server(conf, NULL, &seed, seen);
		redis_address_clear(&seed.place);
		free(message);
		return;
	}
	bool refused = why == REDIS_ERROR_NOAUTH ||
	    why == REDIS_ERROR_WRONGPASS;
	*seen = (struct diagnostics){
	    .how = refused ? REDIS_REFUSED : REDIS_SILENT,
	    .message = message,
	    .missing = mem_zero(n_rights * sizeof(bool)),
	};
}

static size_t
run_cluster(const struct conf *conf, struct diagnostics **ret_seen)
{
	struct cluster_masters masters;
	char *message;
	if (!cluster_query(conf, &masters, &message)) {
		*ret_seen = mem_zero(sizeof **ret_seen);
		note_unseen(conf, *ret_seen, message);
		return 1;
	}
	struct diagnostics *seen = mem_zero(masters.count * sizeof *seen);
	for (size_t i = 0; i < masters.count; i++) {
		const struct redis_address *place = &masters.list[i].place;
		diagnostics_server(
		    conf, &masters, &masters.list[i], &seen[i]);
		seen[i].place = mem_printf("%s:%u", place->host, place->port);
		seen[i].cluster_fails = !masters.serve;
	}
	size_t count = masters.count;
	cluster_query_clear(&masters);
	*ret_seen = seen;
	return count;
}

size_t
diagnostics_run(const struct conf *conf, struct diagnostics **ret_seen)
{
	if (conf->store.redis.cluster.count > 0)
		return run_cluster(conf, ret_seen);
	*ret_seen = mem_zero(sizeof **ret_seen);
	diagnostics_server(conf, NULL, NULL, *ret_seen);
	return 1;
}

void
diagnostics_clear(struct diagnostics *seen)
{
	free(seen->message);
	free(seen->info);
	free(seen->appendfsync);
	free(seen->missing);
	free(seen->store_id);
	free(seen->libraries);
	free(seen->refused);
	free(seen->foreign_name);
	free(seen->locked_id);
	free(seen->coverage);
	free(seen->place);
	*seen = (struct diagnostics){0};
}
