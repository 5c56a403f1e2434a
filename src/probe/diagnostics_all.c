/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "probe/cluster_query.h"
#include "probe/diagnostics.h"
#include "probe/rights.h"

/* What keeps us from looking at the masters of a cluster. */
static void
note_unseen(
    const struct conf *conf, struct redis_seen *seen, char *words)
{
	struct span why = span_str(words);
	struct cluster_master seed = {0};
	if (span_starts(why, SPAN("NOPERM")) &&
	    place_read(span_str(conf->store.cluster.list[0]), &seed.place)) {
		/* We may not ask who they are: a seed tells what else. */
		redis_inspect_one(conf, NULL, &seed, seen);
		place_clear(&seed.place);
		free(words);
		return;
	}
	bool refused = span_starts(why, SPAN("NOAUTH")) ||
	    span_starts(why, SPAN("WRONGPASS"));
	*seen = (struct redis_seen){
	    .how = refused ? REDIS_REFUSED : REDIS_SILENT,
	    .words = words,
	    .missing = mem_zero(n_rights * sizeof(bool)),
	};
}

static size_t
inspect_cluster(const struct conf *conf, struct redis_seen **ret_seen)
{
	struct cluster_seen masters;
	char *words;
	if (!cluster_look(conf, &masters, &words)) {
		*ret_seen = mem_zero(sizeof **ret_seen);
		note_unseen(conf, *ret_seen, words);
		return 1;
	}
	struct redis_seen *seen = mem_zero(masters.count * sizeof *seen);
	for (size_t i = 0; i < masters.count; i++) {
		const struct place *place = &masters.list[i].place;
		redis_inspect_one(
		    conf, &masters, &masters.list[i], &seen[i]);
		seen[i].place = mem_printf("%s:%u", place->host, place->port);
		seen[i].cluster_fails = !masters.serve;
	}
	size_t count = masters.count;
	cluster_seen_clear(&masters);
	*ret_seen = seen;
	return count;
}

size_t
redis_inspect(const struct conf *conf, struct redis_seen **ret_seen)
{
	if (conf->store.cluster.count > 0)
		return inspect_cluster(conf, ret_seen);
	*ret_seen = mem_zero(sizeof **ret_seen);
	redis_inspect_one(conf, NULL, NULL, *ret_seen);
	return 1;
}
