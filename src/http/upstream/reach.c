/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "http/upstream/connection.h"
#include "http/upstream/dialler.h"
#include "http/upstream/reach.h"

struct attempt {
	struct attempts *all;
	struct reached *reached;
	struct dialler dialler;
	struct connection *connection;
};

struct attempts {
	struct loop *loop;
	struct attempt *list;
	size_t count;
	size_t pending;
};

static void
on_attempt_made(void *arg, int error)
{
	struct attempt *attempt = arg;
	struct reached *reached = attempt->reached;
	reached->error = error;
	if (error != 0)
		snprintf(reached->message, sizeof reached->message, "%s",
		    connection_why(attempt->connection));
	if (--attempt->all->pending == 0)
		loop_stop(attempt->all->loop);
}

static void
start_attempt(struct attempts *all, size_t index, struct connector *connector,
    struct reached *reached)
{
	struct attempt *attempt = &all->list[index];
	attempt->all = all;
	attempt->reached = reached;
	dialler_init(&attempt->dialler, connector, reached->upstream,
	    reached->target);
	attempt->connection =
	    connection_open(&attempt->dialler, on_attempt_made, attempt);
}

void
reach_try(struct reached *list, size_t count)
{
	struct attempts tries = {.loop = loop_new(), .count = count};
	struct attempts *all = &tries;
	struct connector *connector = connector_new(all->loop);
	all->list = mem_zero(all->count * sizeof *all->list);
	all->pending = all->count;
	for (size_t i = 0; i < all->count; i++)
		start_attempt(all, i, connector, &list[i]);
	if (all->count > 0)
		loop_run(all->loop);
	for (size_t i = 0; i < all->count; i++) {
		connection_close(&all->list[i].connection);
		dialler_end(&all->list[i].dialler);
	}
	connector_free(&connector);
	free(all->list);
	loop_free(&all->loop);
}

/* Where the targets begin in the list, and so do the next ones. */
static size_t
add_targets(
    struct reached *list, size_t at, const struct conf_upstream *upstream)
{
	for (size_t k = 0; k < upstream->n_targets; k++)
		list[at++] = (struct reached){
		    .upstream = upstream, .target = &upstream->targets[k]};
	return at;
}

struct reached *
reach_targets(const struct conf *conf, size_t *ret_count)
{
	size_t count = 0, at = 0;
	for (size_t i = 0; i < conf->n_upstreams; i++)
		count += conf->upstreams[i].n_targets;
	for (size_t i = 0; i < conf->n_relays; i++)
		count += conf->relays[i].receiver.n_targets;
	struct reached *list = mem_zero(count * sizeof *list);
	for (size_t i = 0; i < conf->n_upstreams; i++)
		at = add_targets(list, at, &conf->upstreams[i]);
	for (size_t i = 0; i < conf->n_relays; i++)
		at = add_targets(list, at, &conf->relays[i].receiver);
	reach_try(list, count);
	*ret_count = count;
	return list;
}
