/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base64.h"
#include "base/loop/loop.h"
#include "messages/shared/leadership.h"
#include "store/record/record.h"

/* --- whose it is --- */

bool
leadership_is_held(const struct leadership *leader)
{
	return leader->term != 0 && clock_us() < leader->until_us;
}

void
leadership_arg_token(const struct leadership *leader, struct store_call *call)
{
	char token[TOKEN_CHARS + 1];
	base64_url_encode(
	    leader->token.bytes, sizeof leader->token.bytes, token);
	const struct span parts[] = {span_of(token, TOKEN_CHARS), SPAN(":"),
	    span_str(leader->watch.shared.store->conf->instance)};
	resp_joined(&call->args, parts, sizeof parts / sizeof *parts);
}

static void
lose(void *arg)
{
	struct leadership *leader = arg;
	if (leader->term == 0)
		return;
	leader->term = 0;
	timer_clear(&leader->end);
	leader->events.lost(leader->events.arg);
}

/* --- asking --- */

static struct store_call *
leader_call(struct leadership *leader, const char *act)
{
	const struct shared *shared = &leader->watch.shared;
	struct store_call *call =
	    shared_call(shared, SCRIPT_leadership, "leadership", 5);
	resp_arg(&call->args, span_str(act));
	leadership_arg_token(leader, call);
	resp_number(&call->args, LEADERSHIP_LEASE_MS);
	resp_number(&call->args, leader->term);
	shared_arg_notice(shared, call);
	return call;
}

static struct store_call *
ask(struct shared_watch *watch)
{
	struct leadership *leader =
	    CONTAINER_OF(watch, struct leadership, watch);
	leader->asked = leader->term;
	return leader_call(leader, "take");
}

static void
heard(struct shared_watch *watch, const struct store_call *call,
    const struct call_reply *reply)
{
	struct leadership *leader =
	    CONTAINER_OF(watch, struct leadership, watch);
	if (reply == NULL)
		return; /* it is asked for again */
	int64_t number = shared_number(reply, 0);
	if (reply->verdict == VERDICT_IN_FLIGHT) {
		if (!watch->again && number >= 0 &&
		    number < LEADERSHIP_RENEW_MS)
			timer_set(&watch->timer, number + 1);
		lose(leader);
		return;
	}
	if (reply->verdict != VERDICT_OURS || number <= 0)
		return;
	/*
	 * It is ours in that term, as was asked for when that was sent.  What
	 * comes too late, as after this process was stopped, says nothing of
	 * now.
	 */
	int64_t until_us = call->run.link.sent_us +
	    (LEADERSHIP_LEASE_MS - LEADERSHIP_MARGIN_MS) * INT64_C(1000);
	bool gained = leader->term == 0;
	if (!gained && number != leader->term) {
		/* Redis has forgotten it, and somebody may have had it. */
		timer_set(&watch->timer, 0);
		lose(leader);
	} else if (leader->term != leader->asked || clock_us() >= until_us) {
		timer_set(&watch->timer, 0);
	} else {
		leader->term = number;
		leader->until_us = until_us;
		timer_set_at(&leader->end, until_us / 1000);
		if (gained)
			leader->events.gained(leader->events.arg);
	}
}

/* --- life --- */

void
leadership_start(struct leadership *leader, struct store *store,
    struct loop *loop, const char *kind, const char *name,
    const struct leadership_events *events)
{
	*leader = (struct leadership){.events = *events,
	    .watch = {.word = "leadership", .every_ms = LEADERSHIP_RENEW_MS,
		.ask = ask, .heard = heard}};
	owner_new(&leader->token);
	timer_init(&leader->end, loop, lose, leader);
	shared_watch_start(&leader->watch, store, loop, kind, name);
}

/*
 * It is given back also where it is not ours, but a call is under way that may
 * yet make it so: that one comes first.
 */
void
leadership_stop(struct leadership *leader)
{
	if (leader->watch.shared.store == NULL)
		return;
	timer_clear(&leader->end);
	if (leader->term != 0 || leader->watch.call != NULL)
		call_start(leader_call(leader, "give"));
	shared_watch_stop(&leader->watch);
	*leader = (struct leadership){0};
}
