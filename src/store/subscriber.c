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
subscriber_sum_up(struct store *store)
{
	bool some = false, all = true;
	for (struct node *n = store->nodes; n != NULL; n = n->next)
		if (node_counts(n)) {
			some = true;
			all = all && n->subscriber.hears;
		}
	bool hears = some && all;
	if (!store->listens || hears == store->hears)
		return;
	store->hears = hears;
	store->listener.hears(store->listener.arg, hears);
}

static void
set_subscribed(struct subscriber *subscriber, bool hears)
{
	if (hears == subscriber->hears)
		return;
	subscriber->hears = hears;
	subscriber_sum_up(subscriber->node->store);
}

/* --- the proof --- */

static void
on_published(struct link_call *call, const redisReply *reply)
{
	struct subscriber *subscriber =
	    (struct subscriber *)(void *)((char *)call -
					  offsetof(struct subscriber, publish));
	subscriber->publishing = false;
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR)
		return;
	struct logline line = log_begin(EV_store_deaf);
	log_str(&line, "error", reply->str);
	log_end(&line);
	timer_clear(&subscriber->timer); /* until the next connection */
}

static void
publish(struct subscriber *subscriber)
{
	struct link *link = subscriber->node->link;
	if (subscriber->publishing || !link_is_up(link) ||
	    !link_is_up(subscriber->link))
		return;
	struct resp command = {0};
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("PUBLISH"));
	redis_keys_index(&command, subscriber->node->store->conf, 0, "changes");
	resp_arg(&command, span_str(subscriber->word));
	subscriber->publishing = true;
	subscriber->publish.done = on_published;
	link_send(link, &subscriber->publish, &command);
	resp_clear(&command);
}

static void
on_timer(void *arg)
{
	struct subscriber *subscriber = arg;
	timer_set(&subscriber->timer, PROVE_MS);
	if (subscriber->hears && clock_us() - subscriber->proven_us > LATE_US)
		link_reset(subscriber->link, "its own word was not heard");
	else
		publish(subscriber);
}

/* --- what is heard --- */

/* A record has changed; bytes are its key_id. */
static void
on_heard(void *arg, struct span bytes)
{
	struct subscriber *subscriber = arg;
	const struct store_listener *listener =
	    &subscriber->node->store->listener;
	struct key_id key_id;
	if (hex_decode(bytes, key_id.bytes, sizeof key_id.bytes)) {
		listener->changed(listener->arg, &key_id);
	} else if (span_eq(bytes, span_str(subscriber->word))) {
		subscriber->proven_us = clock_us();
		set_subscribed(subscriber, true);
	}
}

/* What was said while nobody listened is not known. */
static void
on_changed(void *arg, bool up)
{
	struct subscriber *subscriber = arg;
	const struct store_listener *listener =
	    &subscriber->node->store->listener;
	if (!up) {
		set_subscribed(subscriber, false);
		return;
	}
	listener->changed(listener->arg, NULL);
	if (listener->hears != NULL)
		timer_set(&subscriber->timer, 0);
}

static void
on_failed(void *arg)
{
	(void)arg;
}

static void
on_find(void *arg)
{
	struct subscriber *subscriber = arg;
	master_follower_find(&subscriber->follower, subscriber->link);
}

/* --- life --- */

void
subscriber_init(struct subscriber *subscriber, struct node *node)
{
	struct owner word;
	owner_new(&word);
	subscriber->node = node;
	subscriber->word[0] = '@';
	hex_encode(word.bytes, sizeof word.bytes, subscriber->word + 1);
	timer_init(&subscriber->timer, node->store->loop, on_timer, subscriber);
}

void
subscriber_open(struct subscriber *subscriber)
{
	struct node *node = subscriber->node;
	struct store *store = node->store;
	if (!store->listens || subscriber->link != NULL)
		return;
	const struct link_to to = node_place(node);
	bool follows = to.host == NULL && to.socket == NULL;
	char *channels =
	    mem_printf("%s:{*}:changes", store->conf->store.prefix);
	const struct link_events events = {
	    .changed = on_changed, .failed = on_failed, .heard = on_heard,
	    .channels = channels, .arg = subscriber,
	    .find = follows ? on_find : NULL};
	if (follows)
		master_follower_init(&subscriber->follower,
		    store_health_master(store->health), store->loop);
	subscriber->link = link_new(store->loop, store->conf, &to, &events);
	free(channels);
}

void
subscriber_link_down(struct subscriber *subscriber)
{
	if (subscriber->link != NULL)
		link_reset(subscriber->link, "Redis is out of reach");
}

void
subscriber_end(struct subscriber *subscriber)
{
	timer_clear(&subscriber->timer);
	master_follower_end(&subscriber->follower);
	link_free(&subscriber->link);
}
