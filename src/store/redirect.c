/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/log.h"
#include "store/call.h"
#include "store/redirect.h"

enum {
	REDIRECTS_MAX = 8,
	AGAIN_MS = 20, /* after TRYAGAIN */
};

/* Somebody waits; or it is no operation's, and a step that has to be done. */
static bool
may_go_on(const struct store_call *call)
{
	if (call->redirects >= REDIRECTS_MAX)
		return false;
	return call->op != NULL ? clock_us() < call->give_up_us
				: call->give_up_us == 0;
}

/* What one server knows of it, or could not do, is nothing to the next. */
static void
forget_server(struct store_call *call)
{
	call->asking = call->whole = call->reads = false;
	free(call->refused);
	call->refused = NULL;
}

/* Another node has the slot, or takes it over; false: none of these words. */
static bool
redirect(struct store_call *call, struct span error)
{
	struct topology *topology = call->store->topology;
	struct redirect where;
	if (!redirect_read(error, &call->node->place, &where))
		return false;
	struct node *node = topology_node_at(topology, &where.place);
	place_clear(&where.place);
	if (!where.ask)
		topology_moved(topology, where.slot, node);
	if (!may_go_on(call))
		return false;
	forget_server(call);
	call->redirects++;
	call->asking = where.ask;
	call_start_at(call, node);
	return true;
}

/*
 * Some of the keys of a slot that is being moved are here and some are there:
 * no node can run it until they are together again.
 */
static bool
try_again(struct store_call *call, const char *error)
{
	struct topology *topology = call->store->topology;
	call_log_refused(call->store, EV_cluster_moving,
	    store_operation_word(call->script), error);
	forget_server(call);
	call->redirects = 0;
	if (call->op == NULL || !may_go_on(call)) {
		call_end_unrun(call, E_STORE_REFUSED);
		return true;
	}
	call_wait(call, &topology->again);
	if (!timer_is_set(&topology->again_timer))
		timer_set(&topology->again_timer, AGAIN_MS);
	return true;
}

/* A server that cannot serve may have been replaced. */
static bool
shows_change(struct span error)
{
	static const char *const kinds[] = {
	    "CLUSTERDOWN ", "LOADING ", "MASTERDOWN ", "READONLY "};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (span_starts(error, span_str(kinds[i])))
			return true;
	return false;
}

bool
redirect_call(struct store_call *call, const redisReply *reply)
{
	struct span error = span_of(reply->str, reply->len);
	if (span_starts(error, SPAN("MOVED ")) ||
	    span_starts(error, SPAN("ASK ")))
		return redirect(call, error);
	if (span_starts(error, SPAN("TRYAGAIN ")))
		return try_again(call, reply->str);
	if (shows_change(error))
		topology_doubt(call->store->topology);
	return false;
}
