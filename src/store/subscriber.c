/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "record/redis_keys.h"
#include "store/health.h"
#include "store/store_private.h"
#include "store/subscriber.h"

enum {
	PROVE_MS = 1000,
	LATE_US = 2500 * 1000, /* an ear that was not proven for so long */
};

void
ear_sum_up(struct store *store)
{
	bool some = false, all = true;
	for (struct node *n = store->nodes; n != NULL; n = n->next)
		if (node_counts(n)) {
			some = true;
			all = all && n->ear.hears;
		}
	bool hears = some && all;
	if (!store->listens || hears == store->hears)
		return;
	store->hears = hears;
	store->listener.hears(store->listener.arg, hears);
}

static void
set_hears(struct ear *ear, bool hears)
{
	if (hears == ear->hears)
		return;
	ear->hears = hears;
	ear_sum_up(ear->node->store);
}

/* --- the proof --- */

static void
on_published(struct link_call *call, const redisReply *reply)
{
	struct ear *ear = (struct ear *)(void *)((char *)call -
	    offsetof(struct ear, publish));
	ear->publishing = false;
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR)
		return;
	struct logline line = log_begin(EV_store_deaf);
	log_str(&line, "error", reply->str);
	log_end(&line);
	timer_clear(&ear->timer); /* until the next connection */
}

static void
publish(struct ear *ear)
{
	struct link *link = ear->node->link;
	if (ear->publishing || !link_is_up(link) ||
	    !link_is_up(ear->link))
		return;
	struct resp command = {0};
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("PUBLISH"));
	name_index(&command, ear->node->store->conf, 0, "changes");
	resp_arg(&command, span_str(ear->word));
	ear->publishing = true;
	ear->publish.done = on_published;
	link_send(link, &ear->publish, &command);
	resp_clear(&command);
}

static void
on_timer(void *arg)
{
	struct ear *ear = arg;
	timer_set(&ear->timer, PROVE_MS);
	if (ear->hears && clock_us() - ear->proven_us > LATE_US)
		link_reset(ear->link, "its own word was not heard");
	else
		publish(ear);
}

/* --- what is heard --- */

/* A record has changed; bytes are its key_id. */
static void
on_heard(void *arg, struct span bytes)
{
	struct ear *ear = arg;
	const struct store_listener *listener = &ear->node->store->listener;
	struct key_id key_id;
	if (hex_decode(bytes, key_id.bytes, sizeof key_id.bytes)) {
		listener->changed(listener->arg, &key_id);
	} else if (span_eq(bytes, span_str(ear->word))) {
		ear->proven_us = clock_us();
		set_hears(ear, true);
	}
}

/* What was said while nobody listened is not known. */
static void
on_changed(void *arg, bool up)
{
	struct ear *ear = arg;
	const struct store_listener *listener = &ear->node->store->listener;
	if (!up) {
		set_hears(ear, false);
		return;
	}
	listener->changed(listener->arg, NULL);
	if (listener->hears != NULL)
		timer_set(&ear->timer, 0);
}

static void
on_failed(void *arg)
{
	(void)arg;
}

static void
on_find(void *arg)
{
	struct ear *ear = arg;
	follower_find(&ear->follower, ear->link);
}

/* --- life --- */

void
ear_init(struct ear *ear, struct node *node)
{
	struct owner word;
	owner_new(&word);
	ear->node = node;
	ear->word[0] = '@';
	hex_encode(word.bytes, sizeof word.bytes, ear->word + 1);
	timer_init(&ear->timer, node->store->loop, on_timer, ear);
}

void
ear_open(struct ear *ear)
{
	struct node *node = ear->node;
	struct store *store = node->store;
	if (!store->listens || ear->link != NULL)
		return;
	const struct link_to to = node_place(node);
	bool follows = to.host == NULL && to.socket == NULL;
	char *channels =
	    mem_printf("%s:{*}:changes", store->conf->store.prefix);
	const struct link_events events = {
	    .changed = on_changed, .failed = on_failed, .heard = on_heard,
	    .channels = channels, .arg = ear,
	    .find = follows ? on_find : NULL};
	if (follows)
		follower_init(&ear->follower,
		    store_health_master(store->health), store->loop);
	ear->link = link_new(store->loop, store->conf, &to, &events);
	free(channels);
}

void
ear_link_down(struct ear *ear)
{
	if (ear->link != NULL)
		link_reset(ear->link, "Redis is out of reach");
}

void
ear_end(struct ear *ear)
{
	timer_clear(&ear->timer);
	follower_end(&ear->follower);
	link_free(&ear->link);
}
