/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/must.h"
#include "replay/events.h"
#include "replay/fakes.h"
#include "replay/messages.h"

static bool
reads(const struct gateway *g)
{
	return gateway_lives(g) && !g->stalled && g->reader != NULL;
}

/* --- what may happen --- */

static void
list_reader(struct gateway *g)
{
	if (fake_broker_next(g) < MESSAGES_MAX)
		events_add(HAPPENS_TAKE, g, 0);
	for (unsigned i = 0; i < fake_broker_finishes(g); i++)
		events_add(HAPPENS_FINISH, g, i);
}

void
event_messages_list(void)
{
	if (world.scenario->source == NULL)
		return;
	if (world.broker_down)
		events_add(HAPPENS_BROKER, NULL, 0);
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		if (reads(&world.gateways[i]) &&
		    messages_may_prove(&world.gateways[i]))
			events_add(HAPPENS_PROOF, &world.gateways[i], 0);
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		if (reads(&world.gateways[i]) &&
		    messages_lack_room(&world.gateways[i]))
			events_add(HAPPENS_ROOM, &world.gateways[i], 0);
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		if (reads(&world.gateways[i]))
			list_reader(&world.gateways[i]);
}

static void
list_finish_faults(struct gateway *g, unsigned index)
{
	if (fake_broker_puts(g, index))
		events_add_fault(FAULT_PUT, HAPPENS_PUT, g, index);
	events_add_fault(FAULT_ACK, HAPPENS_ACK, g, index);
	events_add_fault(FAULT_ACK, HAPPENS_UNHEARD, g, index);
}

void
event_messages_list_faults(void)
{
	if (world.scenario->source == NULL)
		return;
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		struct gateway *g = &world.gateways[i];
		for (unsigned k = 0; reads(g) && k < fake_broker_finishes(g);
		     k++)
			list_finish_faults(g, k);
		if (reads(g) && messages_leads(g) && !world.redis_down)
			events_add_fault(FAULT_TURN, HAPPENS_TURN, g, 0);
	}
	if (!world.broker_down)
		events_add_fault(FAULT_BROKER, HAPPENS_AWAY, NULL, 0);
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		if (!fake_broker_is_pending(i) || world.broker_down)
			continue;
		events_add_fault(FAULT_TRIM, HAPPENS_TRIM, NULL, i);
		/* Where there is an order, nobody else reads it. */
		if (world.confs[0]->sources[0].order_by == SOURCE_ORDER_NONE)
			events_add_fault(FAULT_STEAL, HAPPENS_STEAL, NULL, i);
	}
}

/* --- making it happen --- */

static void
do_take(const struct chance *event)
{
	fake_broker_give(event->gateway);
}

static void
do_finish(const struct chance *event)
{
	static const enum acknowledged how[] = {
	    [HAPPENS_FINISH] = ACKNOWLEDGES,
	    [HAPPENS_PUT] = ACK_REFUSED,
	    [HAPPENS_ACK] = ACK_LOST,
	    [HAPPENS_UNHEARD] = ACK_UNHEARD,
	};
	fake_broker_finish(event->gateway, event->index, how[event->what]);
}

static void
do_reach(const struct chance *event)
{
	fake_broker_reach(event->what == HAPPENS_AWAY);
}

static void
do_proof(const struct chance *event)
{
	messages_prove(event->gateway);
}

static void
do_room(const struct chance *event)
{
	(void)event;
	messages_make_room();
}

static void
do_trim(const struct chance *event)
{
	fake_broker_trim(event->index);
}

static void
do_steal(const struct chance *event)
{
	fake_broker_steal(event->index);
}

static void
do_turn(const struct chance *event)
{
	messages_lose_leadership(event->gateway);
}

void
event_messages_happen(const struct chance *event)
{
	static void (*const doings[])(const struct chance *event) = {
	    [HAPPENS_TAKE] = do_take,
	    [HAPPENS_FINISH] = do_finish,
	    [HAPPENS_BROKER] = do_reach,
	    [HAPPENS_PROOF] = do_proof,
	    [HAPPENS_ROOM] = do_room,
	    [HAPPENS_PUT] = do_finish,
	    [HAPPENS_ACK] = do_finish,
	    [HAPPENS_UNHEARD] = do_finish,
	    [HAPPENS_AWAY] = do_reach,
	    [HAPPENS_TRIM] = do_trim,
	    [HAPPENS_STEAL] = do_steal,
	    [HAPPENS_TURN] = do_turn,
	};
	doings[event->what](event);
}
