/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/call.h"
#include "store/claim_revoke.h"
#include "store/health.h"
#include "store/topology.h"

enum {
	ASK_MS = 10 * 1000,
	ASK_AGAIN_MS = 1000, /* while something is wrong */
	SOON_MS = 100,
	TELL_EVERY_US = 1000 * 1000,
	/* Maps that do not name a node before it is freed. */
	UNSEEN_MOST = 2,
};

/* What one node is asked: two commands, sent together. */
struct question {
	struct link_call state; /* CLUSTER INFO */
	struct link_call slots; /* CLUSTER SHARDS, or SLOTS */
	struct map *map;
	struct node *node;
	bool serves;
	bool old; /* it does not know CLUSTER SHARDS */
};

/* --- how things stand --- */

static bool
any_hopeful(const struct map *map)
{
	for (struct node *n = map->store->nodes; n != NULL; n = n->next)
		if (link_is_up(n->link) || node_is_hopeful(n))
			return true;
	return false;
}

bool
map_is_hopeful(const struct map *map)
{
	return !map->known && !map->vain && any_hopeful(map);
}

bool
map_is_up(const struct map *map)
{
	for (struct node *n = map->store->nodes; n != NULL; n = n->next)
		if (map->known && n->n_shards > 0 && node_is_up(n))
			return true;
	return false;
}

/* All that we have to do with is there. */
static bool
is_settled(const struct map *map)
{
	if (!map->known || !map->serves || map->doubted)
		return false;
	for (unsigned i = 0; i < map->n_shards; i++)
		if (map->nodes[i] == NULL || !node_is_up(map->nodes[i]))
			return false;
	return true;
}

static void
say_down(struct map *map, const char *words)
{
	if (map->said_down)
		return;
	map->said_down = true;
	struct logline line = log_begin(EV_store_down);
	log_str(&line, "error", words);
	log_end(&line);
}

static void
say_up(struct map *map)
{
	if (map->said_down && map_is_up(map)) {
		map->said_down = false;
		struct logline line = log_begin(EV_store_up);
		log_end(&line);
	}
}

/* What was asked before that does not settle it. */
static void
doubt(struct map *map)
{
	map->doubted = true;
	map->doubted_us = clock_us();
}

/* --- a new map --- */

struct node *
map_node_at(struct map *map, const struct place *place)
{
	for (struct node *n = map->store->nodes; n != NULL; n = n->next)
		if (place_eq(&n->place, place)) {
			n->unseen = 0;
			return n;
		}
	const struct link_to to = {.host = place->host, .port = place->port};
	return node_new(map->store, &to);
}

static bool
set_owner(struct map *map, unsigned shard, struct node *node)
{
	struct node *before = map->nodes[shard];
	if (before == node)
		return false;
	if (before != NULL)
		before->n_shards--;
	if (node != NULL)
		node->n_shards++;
	map->nodes[shard] = node;
	if (node != NULL)
		ear_open(&node->ear);
	return true;
}

/*
 * One store of the process tells what all of them see, once a second: of two
 * servers that name each other, each redirect is a change.
 */
static void
log_changed(struct map *map, unsigned changed)
{
	int64_t now_us = clock_us();
	if (!map->known || !map->store->watches)
		return;
	map->n_changed += changed;
	if (map->n_changed == 0 || now_us - map->told_us < TELL_EVERY_US)
		return;
	struct logline line = log_begin(EV_cluster_changed);
	log_int(&line, "shards", map->n_changed);
	log_end(&line);
	map->told_us = now_us;
	map->n_changed = 0;
}

static void
remember_places(struct map *map, struct slots *slots)
{
	for (size_t i = 0; i < map->n_places; i++)
		place_clear(&map->places[i]);
	free(map->places);
	map->places = slots->places;
	map->n_places = slots->count;
	slots->places = NULL;
	slots->count = 0;
}

static void
install(struct map *map, struct slots *slots, int64_t asked_us)
{
	struct store *store = map->store;
	unsigned changed = 0;
	for (unsigned i = 0; i < map->n_shards; i++) {
		uint16_t owner = slots->owner[map->slots[i]];
		struct node *node = owner == 0
		    ? NULL
		    : map_node_at(map, &slots->places[owner - 1]);
		changed += set_owner(map, i, node);
	}
	for (struct node *n = store->nodes; n != NULL; n = n->next)
		n->unseen = n->n_shards > 0 ? 0 : n->unseen + 1;
	log_changed(map, changed);
	remember_places(map, slots);
	map->known = true;
	map->doubted = map->doubted && map->doubted_us >= asked_us;
	ear_sum_up(store);
	call_start_queue(&map->queue);
	giveback_pump(store);
	say_up(map);
}

/* --- asking --- */

static void
set_serves(struct map *map, bool serves)
{
	bool before = map->serves;
	map->serves = serves;
	if (serves == before || !map->known || !map->store->watches)
		return;
	struct logline line =
	    log_begin(serves ? EV_cluster_serves : EV_cluster_down);
	log_end(&line);
}

static bool
owns_anything(const struct map *map, const struct slots *slots)
{
	for (unsigned i = 0; i < map->n_shards; i++)
		if (slots->owner[map->slots[i]] != 0)
			return true;
	return false;
}

/* Nothing can be learnt from what it said. */
static void
in_vain(struct map *map, const char *words)
{
	doubt(map);
	if (map->known)
		return;
	map->vain = true;
	say_down(map, words);
	call_fail_queue(&map->queue);
}

/*
 * A node that sees no majority may be the one that is cut off: its map is
 * taken only where there is none yet.
 */
static void
on_told(struct question *question, const redisReply *reply)
{
	struct map *map = question->map;
	const struct place *asked = &question->node->place;
	struct slots *slots = mem_zero(sizeof *slots);
	bool read = question->old ? slots_read_slots(reply, asked, slots)
				  : slots_read_shards(reply, asked, slots);
	set_serves(map, question->serves);
	if (!read)
		in_vain(map, "the slots of the cluster cannot be read");
	else if (!owns_anything(map, slots))
		in_vain(map, "no server of the cluster has our slots");
	else if (question->serves || !map->known)
		install(map, slots, question->slots.sent_us);
	slots_clear(slots);
	free(slots);
}

static void
send_words(struct node *node, struct link_call *call, struct span second)
{
	struct resp command = {0};
	resp_begin(&command, 2);
	resp_arg(&command, SPAN("CLUSTER"));
	resp_arg(&command, second);
	link_send(node->link, call, &command);
	resp_clear(&command);
}

static void
on_slots(struct link_call *call, const redisReply *reply)
{
	struct question *question = (struct question *)(void *)((char *)call -
	    offsetof(struct question, slots));
	struct map *map = question->map;
	bool refused = reply != NULL && reply->type == REDIS_REPLY_ERROR;
	if (refused && !question->old) {
		question->old = true;
		send_words(question->node, &question->slots, SPAN("SLOTS"));
		return;
	}
	if (map->question == question)
		map->question = NULL;
	if (refused)
		in_vain(map, reply->str);
	else if (reply != NULL)
		on_told(question, reply);
	free(question);
	if (is_settled(map))
		timer_set(&map->timer, ASK_MS);
}

static void
on_state(struct link_call *call, const redisReply *reply)
{
	struct question *question = (struct question *)(void *)call;
	question->serves = reply == NULL ||
	    reply->type != REDIS_REPLY_STRING ||
	    slots_serve(span_of(reply->str, reply->len));
}

/* The next one that answers, in turn: one that is cut off does not know. */
static struct node *
whom_to_ask(const struct map *map)
{
	struct node *first = NULL;
	bool behind = false;
	for (struct node *n = map->store->nodes; n != NULL; n = n->next) {
		if (behind && node_is_up(n))
			return n;
		if (first == NULL && node_is_up(n))
			first = n;
		behind = behind || n == map->asked;
	}
	return first;
}

static void
ask(struct map *map, struct node *node)
{
	struct question *question = mem_zero(sizeof *question);
	question->map = map;
	question->node = node;
	question->state.done = on_state;
	question->slots.done = on_slots;
	map->question = question;
	map->asked = node;
	map->asked_us = clock_us();
	send_words(node, &question->state, SPAN("INFO"));
	send_words(node, &question->slots, SPAN("SHARDS"));
}

/* Nobody answers: whoever was ever named may know. */
static void
seek(struct map *map)
{
	const struct strings *seeds = &map->store->conf->store.cluster;
	struct place place;
	for (size_t i = 0; i < map->n_places; i++)
		map_node_at(map, &map->places[i]);
	for (size_t i = 0; i < seeds->count; i++) {
		if (!place_read(span_str(seeds->list[i]), &place))
			continue;
		map_node_at(map, &place);
		place_clear(&place);
	}
}

/* Frees what no map has named for a while, unless all else is silent. */
static void
reap(struct map *map)
{
	struct node *next;
	if (!map_is_up(map))
		return;
	for (struct node *n = map->store->nodes; n != NULL; n = next) {
		next = n->next;
		if (n->n_shards > 0 || n->unseen < UNSEEN_MOST)
			continue;
		if (map->asked == n)
			map->asked = NULL;
		node_free(&n);
		health_sum_up(map->store);
	}
}

static void
on_timer(void *arg)
{
	struct map *map = arg;
	reap(map);
	struct node *node = whom_to_ask(map);
	if (node == NULL)
		seek(map);
	else
		ask(map, node); /* one who is silent is asked no longer */
	timer_set(&map->timer, is_settled(map) ? ASK_MS : ASK_AGAIN_MS);
}

void
map_doubt(struct map *map)
{
	int64_t wait_ms =
	    SOON_MS - (clock_us() - map->asked_us) / 1000;
	doubt(map);
	if (wait_ms < 0)
		wait_ms = 0;
	if (!timer_is_set(&map->timer) ||
	    map->timer.at_ms > loop_now_ms(map->store->loop) + wait_ms)
		timer_set(&map->timer, wait_ms);
}

void
map_moved(struct map *map, unsigned slot, struct node *node)
{
	unsigned changed = 0;
	for (unsigned i = 0; i < map->n_shards; i++)
		if (map->slots[i] == slot)
			changed += set_owner(map, i, node);
	log_changed(map, changed);
	ear_sum_up(map->store);
	map_doubt(map);
}

/* --- what nodes tell --- */

void
map_node_up(struct node *node)
{
	struct map *map = node->store->map;
	say_up(map);
	if (!map->known && map->question == NULL)
		map_doubt(map);
}

void
map_node_down(struct node *node)
{
	struct map *map = node->store->map;
	map_doubt(map);
	if (!map_is_up(map))
		say_down(map, "no server of the cluster answers");
}

void
map_node_failed(struct node *node)
{
	struct map *map = node->store->map;
	if (node->n_shards > 0)
		map_doubt(map);
	if (map_is_up(map) || any_hopeful(map))
		return;
	say_down(map, "no server of the cluster answers");
	call_fail_queue(&map->queue);
}

/* --- life --- */

static void
on_again(void *arg)
{
	struct map *map = arg;
	call_start_queue(&map->again);
}

static void
find_slots(struct map *map)
{
	for (unsigned i = 0; i < map->n_shards; i++)
		map->slots[i] = (uint16_t)slot_of_shard(i);
}

struct map *
map_new(struct store *store)
{
	if (store->conf->store.cluster.count == 0)
		return NULL;
	struct map *map = mem_zero(sizeof *map);
	map->store = store;
	map->n_shards = (unsigned)store->conf->store.shards;
	map->slots = mem_zero(map->n_shards * sizeof *map->slots);
	map->nodes = mem_zero(map->n_shards * sizeof(struct node *));
	map->serves = true;
	map->queue.end = &map->queue.first;
	map->again.end = &map->again.first;
	timer_init(&map->timer, store->loop, on_timer, map);
	timer_init(&map->again_timer, store->loop, on_again, map);
	find_slots(map);
	seek(map);
	return map;
}

void
map_free(struct map **map)
{
	struct map *m = *map;
	*map = NULL;
	if (m == NULL)
		return;
	call_fail_queue(&m->queue);
	call_fail_queue(&m->again);
	timer_clear(&m->timer);
	timer_clear(&m->again_timer);
	for (size_t i = 0; i < m->n_places; i++)
		place_clear(&m->places[i]);
	free(m->places);
	free(m->slots);
	free(m->nodes);
	free(m);
}
