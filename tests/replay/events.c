/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/must.h"
#include "replay/choice.h"
#include "replay/events.h"
#include "replay/fakes.h"
#include "replay/messages.h"
#include "store/node.h"

enum { SWEEP_MS = 300 };

static unsigned count;
static struct chance *events;

static struct chance *
add(enum happening what, struct gateway *gateway, unsigned index)
{
	must(count < EVENTS_MAX);
	struct chance *event = &events[count++];
	*event = (struct chance){
	    .what = what, .gateway = gateway, .index = index, .weight = 12};
	return event;
}

static void
add_fault(enum fault fault, enum happening what, struct gateway *gateway,
    unsigned index)
{
	if (!(world.scenario->faults & fault) || world.fault == 0 ||
	    world.healing)
		return;
	struct chance *event = add(what, gateway, index);
	event->budget = &world.fault;
	event->weight = 1;
}

struct chance *
events_add(enum happening what, struct gateway *gateway, unsigned index)
{
	return add(what, gateway, index);
}

void
events_add_fault(enum fault fault, enum happening what,
    struct gateway *gateway, unsigned index)
{
	add_fault(fault, what, gateway, index);
}

static bool
acts(const struct gateway *gateway)
{
	return gateway_lives(gateway) && !gateway->stalled;
}

/* --- what a gateway waits for --- */

/* What the other thread writes now; NULL: nothing. */
static struct work *
writes(const struct gateway *g)
{
	return gateway_lives(g) ? g->worker->journal_replay.writer.work : NULL;
}

static void
list_link(struct gateway *g, unsigned index)
{
	const struct link *link = g->links[index];
	if (link == NULL)
		return;
	unsigned executed = link_executed(link);
	if (executed > 0 && acts(g))
		add(HAPPENS_REPLY, g, index);
	if (executed < link_pending(link))
		add(HAPPENS_EXECUTE, g, index);
}

static void
list_store(struct gateway *g)
{
	if (g->links[0] == NULL)
		return;
	for (unsigned i = 0; i < GATEWAY_LINKS; i++)
		list_link(g, i);
	if (link_messages(g->subscriber) > 0 && acts(g))
		add(HAPPENS_TELL, g, 0);
	if (writes(g) && acts(g))
		add(HAPPENS_WRITE, g, 0);
}

/* What the upstream may do with it now. */
static unsigned
allowed_doings(const struct forwarded *f)
{
	enum {
		ANSWERS = DOES_PAY | DOES_FAIL | DOES_REFUSE | DOES_DOUBT |
		    DOES_FORGET
	};
	unsigned allowed =
	    world.healing ? DOES_PAY : world.scenario->upstream;
	if (f->answered || !gateway_lives(f->gateway))
		return 0;
	if (f->question)
		allowed = DOES_PAY |
		    (allowed & (DOES_NOT_HEAR | DOES_BREAK));
	if (f->heard)
		allowed = DOES_PAY |
		    (allowed & (DOES_FAIL | DOES_BREAK | DOES_BABBLE));
	if (f->half)
		allowed &= ~(unsigned)(DOES_NOT_HEAR | DOES_TAKE);
	if (world.scenario->ills > 0 && world.ills == 0)
		allowed &= DOES_PAY | DOES_HEAR;
	/* While it stands still, only what it has sent is answered. */
	if (f->gateway->stalled)
		return f->half || f->late ? 0 : allowed & ANSWERS;
	return allowed;
}

static void
list_doing(struct gateway *gateway, unsigned index, enum doing doing)
{
	struct chance *event = add(HAPPENS_FORWARD, gateway, index);
	event->doing = doing;
	if (world.scenario->ills > 0 && doing != DOES_PAY &&
	    doing != DOES_HEAR)
		event->budget = &world.ills;
}

static void
list_forwards(void)
{
	static const enum doing all[] = {DOES_PAY, DOES_FAIL, DOES_REFUSE,
	    DOES_DOUBT, DOES_NOT_HEAR, DOES_BREAK, DOES_BABBLE, DOES_HEAR,
	    DOES_TAKE, DOES_FORGET};
	unsigned pending = forwards_count();
	for (unsigned i = 0; i < pending; i++) {
		const struct forwarded *f = forwards_get(i);
		unsigned allowed = allowed_doings(f);
		for (size_t k = 0; k < sizeof all / sizeof *all; k++)
			if (allowed & all[k])
				list_doing(f->gateway, i, all[k]);
	}
}

/* An answer that does not arrive is as one that breaks. */
static void
list_rows(void)
{
	bool breaks = (world.scenario->upstream & DOES_BREAK) != 0 &&
	    !world.healing &&
	    (world.scenario->ills == 0 || world.ills > 0);
	for (unsigned i = 0; i < fake_witness_questions(); i++) {
		struct gateway *g = fake_witness_gateway(i);
		if (!gateway_lives(g) || g->stalled)
			continue;
		add(HAPPENS_ROW, g, i)->doing = DOES_PAY;
		if (!breaks)
			continue;
		struct chance *event = add(HAPPENS_ROW, g, i);
		event->doing = DOES_BREAK;
		if (world.scenario->ills > 0)
			event->budget = &world.ills;
	}
}

/* --- clients, and what is done to gateways --- */

static bool
is_done(const struct client *client)
{
	return client->state >= CALLER_ANSWERED;
}

static bool
may_come(const struct client *client)
{
	const struct caller *caller = client->caller;
	const struct gateway *g = &world.gateways[caller->gateway];
	return client->state == CALLER_AWAY && acts(g) && !g->draining &&
	    (caller->after == 0 ||
		is_done(&world.clients[caller->after - 1]));
}

/* Of two callers that are alike, only one order is tried. */
static bool
is_like_one_before(unsigned index)
{
	const struct caller *a = world.clients[index].caller;
	for (unsigned i = 0; i < index; i++) {
		const struct caller *b = world.clients[i].caller;
		if (world.clients[i].state == CALLER_AWAY &&
		    a->key == b->key && a->scope == b->scope &&
		    a->body == b->body && a->gateway == b->gateway &&
		    a->wait_s == b->wait_s && a->after == b->after)
			return true;
	}
	return false;
}

static void
list_clients(void)
{
	for (unsigned i = 0; i < world.n_clients; i++) {
		struct client *client = &world.clients[i];
		if (client->state == CALLER_SENDING && acts(client->gateway))
			add(HAPPENS_BODY, client->gateway, i);
		if (may_come(client) && !is_like_one_before(i))
			add(HAPPENS_ARRIVE, NULL, i);
	}
	for (unsigned i = 0; i < ACTS_MAX; i++) {
		const struct act *act = &world.scenario->acts[i];
		struct gateway *g = &world.gateways[act->gateway];
		if (act->kind != ACT_NONE && !world.acted[i] && acts(g) &&
		    (act->kind != ACT_PAUSE || !world.healing) &&
		    (act->kind != ACT_RESUME || world.paused) &&
		    messages_may_tell(g, act))
			add(HAPPENS_ACT, g, i);
	}
}

static void
list_healing(void)
{
	if (world.redis_down)
		add(HAPPENS_UP, NULL, 0);
	if (world.memory_short)
		add(HAPPENS_MEMORY, NULL, 0);
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		struct gateway *g = &world.gateways[i];
		if (g->stalled)
			add(HAPPENS_GO_ON, g, 0);
		if (!gateway_lives(g) && (g->was_killed || world.healing))
			add(HAPPENS_START, g, 0);
	}
	if (ghosts_count() > 0)
		add(HAPPENS_GHOST, NULL, 0);
	if (redis_damaged() != NULL && !world.redis_down)
		add(HAPPENS_DELETE, NULL, 0);
}

/* --- faults --- */

static void
list_link_faults(struct gateway *g, unsigned index)
{
	const struct link *link = g->links[index];
	if (link == NULL)
		return;
	unsigned pending = link_pending(link);
	if (pending > 0)
		add_fault(FAULT_CUT, HAPPENS_CUT, g, index);
	if (link_executed(link) < pending)
		add_fault(FAULT_REFUSE, HAPPENS_REFUSE, g, index);
	if (link_executed(link) < pending && link_is_waiting(link))
		add_fault(FAULT_FEW, HAPPENS_FEW, g, index);
}

static void
list_faults(void)
{
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		struct gateway *g = &world.gateways[i];
		if (!gateway_lives(g))
			continue;
		for (unsigned k = 0; k < GATEWAY_LINKS; k++)
			list_link_faults(g, k);
		if (link_messages(g->subscriber) > 0)
			add_fault(FAULT_CUT, HAPPENS_DEAFEN, g, 0);
		if (!g->stalled)
			add_fault(FAULT_STALL, HAPPENS_STALL, g, 0);
		if (!g->disk_full)
			add_fault(FAULT_DISK, HAPPENS_DISK, g, 0);
		add_fault(FAULT_KILL, HAPPENS_KILL, g, 0);
	}
	for (unsigned i = 0; i < world.n_clients; i++) {
		const struct client *client = &world.clients[i];
		if (client->state == CALLER_SENDING ||
		    client->state == CALLER_WAITING)
			add_fault(FAULT_LEAVE, HAPPENS_LEAVE,
			    client->gateway, i);
	}
	if (!world.memory_short)
		add_fault(FAULT_SHORT, HAPPENS_SHORT, NULL, 0);
	if (forwards_count() > 0)
		add_fault(FAULT_FORGET, HAPPENS_FORGET, NULL, 0);
	if (redis_in_flight() != NULL && redis_damaged() == NULL)
		add_fault(FAULT_DAMAGE, HAPPENS_DAMAGE, NULL, 0);
	if (world.redis_down) {
		if (fake_journals_answer())
			add_fault(FAULT_LOSE, HAPPENS_LOSE, NULL, 0);
		return;
	}
	add_fault(FAULT_DOWN, HAPPENS_DOWN, NULL, 0);
	for (unsigned i = 0; i < REPLICA_COPIES; i++)
		if (redis_has_copy((enum replica_copy)i))
			add_fault(
			    FAULT_FAILOVER, HAPPENS_FAILOVER, NULL, i);
}

/* --- time --- */

static bool
is_boring(const struct gateway *g, const struct timer *timer)
{
	const struct store *store = g->worker->store;
	const struct node *node =
	    LIST_FIRST(&store->nodes, struct node, in_store);
	return timer == &store->sweep || timer == &store->identity.timer ||
	       timer == &node->health.timer ||
	       timer == &node->subscriber.timer ||
	       timer == &g->worker->journal_replay.timer ||
	       messages_are_boring(g, timer) ||
	       link_owns_timer(g->links[0], timer) ||
	       (g->links[1] != NULL && link_owns_timer(g->links[1], timer)) ||
	       link_owns_timer(g->subscriber, timer);
}

static bool
matters(const struct gateway *g, const struct timer *timer)
{
	return !is_boring(g, timer);
}

static int64_t lease_until_ms; /* the first that ends; 0: there is none */

static void
see_lease(const char *name, struct span value)
{
	(void)name;
	if (!span_starts(value, SPAN("o1P")) &&
	    !span_starts(value, SPAN("o2P")))
		return;
	char digits[14] = "";
	memcpy(digits, value.ptr + 42, 13);
	int64_t ms = atoll(digits) - REDIS_EPOCH_MS * (int64_t)1000;
	if (lease_until_ms == 0 || ms < lease_until_ms)
		lease_until_ms = ms > 0 ? ms : 1;
}

/* Something is there that a boring timer looks for. */
static bool
is_to_be_found(void)
{
	if (world.redis_down)
		return false;
	if (fake_broker_is_stuck() && !world.paused && !world.broker_down)
		return true;
	if (messages_are_left() && messages_readers() == 0)
		return true;
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		const struct gateway *g = &world.gateways[i];
		if (acts(g) && (fake_journals_open() > 0 ||
			!link_is_up(g->links[0]) ||
			!link_is_up(g->subscriber) ||
			(g->links[1] != NULL && !link_is_up(g->links[1]))))
			return true;
	}
	return false;
}

static int64_t next_ms; /* when a timer that matters is due; 0: never */

static bool
see_timer(const struct gateway *g, const struct timer *timer)
{
	if (matters(g, timer) && (next_ms == 0 || timer->at_ms < next_ms))
		next_ms = timer->at_ms;
	return false;
}

static bool
see_any(const struct gateway *g, const struct timer *timer)
{
	(void)g;
	if (next_ms == 0 || timer->at_ms < next_ms)
		next_ms = timer->at_ms;
	return false;
}

/*
 * When something will happen; 0: never.  Timers that only look for what is not
 * there are passed over: they fire late, and once.
 */
static int64_t
next_time_ms(void)
{
	bool found = is_to_be_found();
	bool lives = false;
	next_ms = 0;
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		const struct gateway *g = &world.gateways[i];
		if (!acts(g))
			continue;
		lives = true;
		fake_loop_any(g->loop, found ? see_any : see_timer);
	}
	lease_until_ms = 0;
	if (lives && !world.redis_down)
		redis_records(see_lease);
	/* Once it is over, the next sweep finds it. */
	int64_t now_ms = world.now_us / 1000;
	int64_t expire_ms =
	    (lease_until_ms > now_ms ? lease_until_ms : now_ms) + SWEEP_MS;
	if (lease_until_ms > 0 && (next_ms == 0 || expire_ms < next_ms))
		next_ms = expire_ms;
	return next_ms;
}

bool
events_time_matters(void)
{
	return next_time_ms() > 0;
}

/* A message tries again and again, while requests give up. */
static bool
is_disk_tried(void)
{
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		if (world.gateways[i].disk_full &&
		    world.scenario->source != NULL)
			return true;
	return false;
}

/* An operator may see a message for as long as it is there. */
static bool
is_in_no_haste(const struct chance *event)
{
	if (event->what != HAPPENS_ACT)
		return false;
	const struct act *act = &world.scenario->acts[event->index];
	return act->kind == ACT_DROP || act->kind == ACT_REPLAY;
}

/*
 * Time costs something where something else could happen first: then Redis is
 * slow, or the upstream or a client.
 */
static void
list_time(void)
{
	if (next_time_ms() == 0)
		return;
	bool late = false, other = false;
	for (unsigned i = 0; i < count; i++) {
		late |= events[i].what == HAPPENS_EXECUTE ||
		    events[i].what == HAPPENS_REPLY ||
		    events[i].what == HAPPENS_TELL;
		other |= !is_in_no_haste(&events[i]);
	}
	bool free = !other && !is_disk_tried();
	unsigned *budget = free ? NULL : late ? &world.late : &world.slow;
	if (budget != NULL && (*budget == 0 || world.healing))
		return;
	struct chance *event = add(HAPPENS_TIME, NULL, 0);
	event->budget = budget;
	event->weight = late ? 2 : 4;
}

static void
move_to(int64_t at_ms)
{
	if (at_ms * 1000 > world.now_us)
		world.now_us = at_ms * 1000;
	/* As a loop does, before it fires timers. */
	(void)forwards_read();
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		struct gateway *g = &world.gateways[i];
		if (acts(g))
			fake_loop_fire(g->loop);
	}
}

/* A turn is renewed each second on the way, unless that does not work out. */
static void
pass_time(void)
{
	int64_t at_ms = next_time_ms();
	unsigned readers = messages_readers();
	int64_t beat_ms;
	must(at_ms > 0);
	while ((beat_ms = messages_beat_ms()) > 0 && beat_ms < at_ms) {
		move_to(beat_ms);
		while (events_settle())
			continue;
		if (messages_readers() != readers)
			return;
	}
	move_to(at_ms);
}

/* --- all of them --- */

unsigned
events_list(struct chance list[EVENTS_MAX])
{
	events = list;
	count = 0;
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		list_store(&world.gateways[i]);
	list_forwards();
	list_rows();
	list_clients();
	list_healing();
	event_messages_list();
	list_time();
	if (count > 0) {
		list_faults();
		event_messages_list_faults();
	}
	return count;
}

unsigned
events_close(struct chance *list, unsigned n)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < n; i++) {
		struct chance *event = &list[i];
		if (event->budget != NULL && event->what != HAPPENS_TIME &&
		    event->what != HAPPENS_FORWARD &&
		    event->what != HAPPENS_LEAVE)
			continue;
		if (event->what == HAPPENS_EXECUTE ||
		    event->what == HAPPENS_GHOST ||
		    event->what == HAPPENS_START)
			continue;
		/* The turn is long. */
		if (event->what == HAPPENS_TIME) {
			event->budget = &world.late;
			if (world.late == 0)
				continue;
		}
		event->weight = 1;
		list[kept++] = *event;
	}
	return kept;
}

/*
 * If no fault can come between, the commands of a single gateway may as well be
 * executed when they are sent: nobody could tell the difference.
 */
static void
execute_early(struct gateway *g)
{
	bool faults = world.fault > 0 && !world.healing &&
	    world.scenario->faults &
		(FAULT_CUT | FAULT_DOWN | FAULT_REFUSE | FAULT_KILL |
		    FAULT_FEW | FAULT_FAILOVER);
	if (faults || (!world.healing && (world.late > 0 ||
	    world.scenario->gateways > 1)))
		return;
	for (unsigned i = 0; i < GATEWAY_LINKS; i++) {
		struct link *link = g->links[i];
		while (link != NULL &&
		    link_executed(link) < link_pending(link))
			link_execute(link);
	}
}

bool
events_settle(void)
{
	bool settled = forwards_read();
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		struct gateway *g = &world.gateways[i];
		if (!acts(g))
			continue;
		if (fake_loop_has_work(g->loop)) {
			fake_loop_work(g->loop);
			settled = true;
		}
		settled |= fake_loop_end_works(g->loop,
		    world.scenario->slow_disk && !world.healing ? writes(g)
								: NULL);
		struct link *link = g->links[0];
		while (link_is_up(link) && link_is_only_looking(link)) {
			if (link_executed(link) == 0)
				link_execute(link);
			link_deliver(link);
			settled = true;
		}
		while (link_is_proving(g->subscriber)) {
			link_tell(g->subscriber);
			settled = true;
		}
		if (messages_are_due(g)) {
			fake_loop_fire(g->loop);
			settled = true;
		}
		if (world.scenario->source != NULL)
			settled |= fake_broker_settle(g);
		execute_early(g);
		gateway_bury(g);
	}
	for (unsigned i = 0; i < CALLERS_MAX; i++) {
		struct client *client = &world.clients[i];
		if (client->gateway != NULL && acts(client->gateway))
			settled |= fake_front_notice(client);
		if (client->state == CALLER_SENDING &&
		    (world.healing ||
			!(world.scenario->faults & FAULT_LEAVE)) &&
		    acts(client->gateway)) {
			fake_front_body(client);
			settled = true;
		}
	}
	return settled;
}

/* --- making them happen --- */

static void
do_execute(const struct chance *event)
{
	link_execute(event->gateway->links[event->index]);
}

static void
do_reply(const struct chance *event)
{
	link_deliver(event->gateway->links[event->index]);
}

static void
do_tell(const struct chance *event)
{
	link_tell(event->gateway->subscriber);
}

static void
do_write(const struct chance *event)
{
	fake_loop_end_work(event->gateway->loop, writes(event->gateway));
}

static void
do_forward(const struct chance *event)
{
	forwards_end(event->index, event->doing);
}

static void
do_row(const struct chance *event)
{
	fake_witness_answer(event->index, event->doing == DOES_PAY);
}

static void
do_body(const struct chance *event)
{
	fake_front_body(&world.clients[event->index]);
}

static void
do_arrive(const struct chance *event)
{
	struct client *client = &world.clients[event->index];
	client_arrive(client, client->caller);
}

static void
do_act(const struct chance *event)
{
	const struct act *act = &world.scenario->acts[event->index];
	world.acted[event->index] = true;
	switch (act->kind) {
	case ACT_NONE:
		break;
	case ACT_DRAIN:
		gateway_drain(event->gateway);
		break;
	case ACT_RELOAD:
		gateway_reload(event->gateway);
		break;
	case ACT_PAUSE:
		redis_pause(true);
		break;
	case ACT_RESUME:
		redis_pause(false);
		break;
	case ACT_DROP:
	case ACT_REPLAY:
		messages_tell(event->gateway, act);
		break;
	}
}

static void
do_up(const struct chance *event)
{
	(void)event;
	world.redis_down = false;
}

static void
do_memory(const struct chance *event)
{
	(void)event;
	world_memory(false);
}

static void
do_short(const struct chance *event)
{
	(void)event;
	world_memory(true);
}

static void
do_go_on(const struct chance *event)
{
	event->gateway->stalled = false;
}

static void
do_start(const struct chance *event)
{
	gateway_start(event->gateway);
}

static void
do_ghost(const struct chance *event)
{
	(void)event;
	ghosts_execute();
}

static void
do_time(const struct chance *event)
{
	(void)event;
	pass_time();
	world_say("  it is %lld ms", (long long)world.now_us / 1000);
}

static void
do_cut(const struct chance *event)
{
	link_cut(event->gateway->links[event->index]);
}

static void
do_deafen(const struct chance *event)
{
	link_cut(event->gateway->subscriber);
}

static void
do_refuse(const struct chance *event)
{
	link_refuse(event->gateway->links[event->index]);
}

static void
do_leave(const struct chance *event)
{
	fake_front_leave(&world.clients[event->index]);
}

static void
cut_all(struct gateway *g)
{
	for (unsigned i = GATEWAY_LINKS; i-- > 0;)
		if (g->links[i] != NULL)
			link_cut(g->links[i]);
}

static void
do_down(const struct chance *event)
{
	(void)event;
	world.redis_down = true;
	for (unsigned i = 0; i < world.scenario->gateways; i++)
		if (gateway_lives(&world.gateways[i]))
			cut_all(&world.gateways[i]);
}

static void
do_few(const struct chance *event)
{
	link_count_few(event->gateway->links[event->index]);
}

/* What was on its way to the old one is lost with it. */
static void
do_failover(const struct chance *event)
{
	world.forgot = true;
	for (unsigned i = 0; i < world.scenario->gateways; i++) {
		struct gateway *g = &world.gateways[i];
		if (!gateway_lives(g))
			continue;
		cut_all(g);
		link_cut(g->subscriber);
	}
	ghosts_clear();
	redis_fail_over((enum replica_copy)event->index);
}

static void
do_forget(const struct chance *event)
{
	(void)event;
	redis_clear();
	/* Attempts are counted from what Redis remembers. */
	for (unsigned i = 0; i < KEYS_MAX; i++)
		world.truths[i].attempts = 0;
}

static void
do_damage(const struct chance *event)
{
	(void)event;
	redis_damage();
	world.forgot = true;
}

/* What the record knew of attempts is gone. */
static void
do_delete(const struct chance *event)
{
	(void)event;
	redis_delete_damaged();
	for (unsigned i = 0; i < KEYS_MAX; i++)
		world.truths[i].attempts = 0;
}

static void
do_kill(const struct chance *event)
{
	gateway_kill(event->gateway);
}

static void
do_stall(const struct chance *event)
{
	event->gateway->stalled = true;
}

static void
do_disk(const struct chance *event)
{
	event->gateway->disk_full = true;
	for (unsigned i = 0; i < KEYS_MAX; i++)
		world.truths[i].lost = true;
}

void
events_happen(const struct chance *event)
{
	static const struct {
		const char *message;
		void (*run)(const struct chance *event);
	} doings[] = {
	    [HAPPENS_EXECUTE] = {"Redis executes", do_execute},
	    [HAPPENS_REPLY] = {"Redis replies", do_reply},
	    [HAPPENS_TELL] = {"word arrives", do_tell},
	    [HAPPENS_WRITE] = {"the disk has it", do_write},
	    [HAPPENS_FORWARD] = {"the upstream acts", do_forward},
	    [HAPPENS_ROW] = {"the database answers", do_row},
    [HAPPENS_BODY] = {"a body arrives", do_body},
	    [HAPPENS_ARRIVE] = {"a client arrives", do_arrive},
	    [HAPPENS_ACT] = {"the operator acts", do_act},
	    [HAPPENS_UP] = {"Redis is up again", do_up},
	    [HAPPENS_MEMORY] = {"there is memory again", do_memory},
	    [HAPPENS_GO_ON] = {"it goes on", do_go_on},
	    [HAPPENS_START] = {"it is started", do_start},
	    [HAPPENS_GHOST] = {"Redis executes a ghost", do_ghost},
	    [HAPPENS_DELETE] = {"an operator deletes", do_delete},
	    [HAPPENS_TIME] = {"time passes", do_time},
	    [HAPPENS_CUT] = {"its connection is cut", do_cut},
	    [HAPPENS_DEAFEN] = {"its ear is cut", do_deafen},
	    [HAPPENS_REFUSE] = {"Redis refuses", do_refuse},
	    [HAPPENS_LEAVE] = {"a client leaves", do_leave},
	    [HAPPENS_DOWN] = {"Redis goes down", do_down},
	    [HAPPENS_KILL] = {"it is killed", do_kill},
	    [HAPPENS_STALL] = {"it stands still", do_stall},
	    [HAPPENS_DISK] = {"its disk is full", do_disk},
	    [HAPPENS_FEW] = {"Redis counts too few replicas", do_few},
	    [HAPPENS_FAILOVER] = {"a replica takes over", do_failover},
	    [HAPPENS_SHORT] = {"memory is used up", do_short},
	    [HAPPENS_FORGET] = {"Redis forgets everything", do_forget},
    [HAPPENS_LOSE] = {"Redis will be back without its data", do_forget},
	    [HAPPENS_DAMAGE] = {"a record is damaged", do_damage},
	    [HAPPENS_TAKE] = {"a message is taken", event_messages_happen},
	    [HAPPENS_FINISH] = {"it is acknowledged", event_messages_happen},
	    [HAPPENS_BROKER] = {"the broker is up", event_messages_happen},
	    [HAPPENS_PROOF] = {"it is believed", event_messages_happen},
	    [HAPPENS_ROOM] = {"room is made", event_messages_happen},
	    [HAPPENS_PUT] = {"it is not taken", event_messages_happen},
	    [HAPPENS_ACK] = {"it is lost", event_messages_happen},
	    [HAPPENS_UNHEARD] = {"it is not heard", event_messages_happen},
	    [HAPPENS_AWAY] = {"the broker is down", event_messages_happen},
	    [HAPPENS_TRIM] = {"a message is trimmed", event_messages_happen},
	    [HAPPENS_STEAL] = {"a message is stolen", event_messages_happen},
	    [HAPPENS_TURN] = {"the turn is another's", event_messages_happen},
	};
	world_say("%s (gateway %u, number %u, doing %u)",
	    doings[event->what].message,
	    event->gateway ? event->gateway->index + 1 : 0, event->index + 1,
	    (unsigned)event->doing);
	world.hurried |= event->budget == &world.late;
	world.faulty |= event->what >= HAPPENS_CUT;
	if (event->budget != NULL)
		--*event->budget;
	doings[event->what].run(event);
}
