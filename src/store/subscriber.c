/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "store/record/redis_keys.h"
#include "store/store_health.h"
#include "store/subscriber.h"

enum {
	PROVE_MS = 1000,
	LATE_US = 2500 * 1000, /* without a proof for so long, it is dead */
	TIME_CHARS = 16,       /* behind a word: when it was sent, in hex */
};

void
subscriber_sum_up(struct store *store)
{
	bool some = false, all = true;
	struct node *node;
	LIST_EACH(node, &store->nodes, in_store)
		if (node->n_shards > 0) {
			some = true;
			all = all && node->subscriber.subscribed;
		}
	bool subscribed = some && all;
	if (!store->listens || subscribed == store->subscribed)
		return;
	store->subscribed = subscribed;
	store->listener.hears(store->listener.arg, subscribed);
}

/* --- the proof --- */

/* Of a right that is missing the log hears once, until it is there. */
static void
on_refused(void *arg, const char *error)
{
	struct subscriber *subscriber = &((struct node *)arg)->subscriber;
	if (subscriber->said_deaf)
		return;
	subscriber->said_deaf = true;
	log_event_str(EV_store_deaf, "error", error);
}

static void
on_published(struct link_call *call, const redisReply *reply)
{
	struct node *node =
	    CONTAINER_OF(call, struct node, subscriber.publish);
	struct subscriber *subscriber = &node->subscriber;
	subscriber->publishing = false;
	channel_check_type(&node->small, reply, REDIS_REPLY_INTEGER);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR)
		on_refused(node, reply->str);
}

static void
on_prove_timer(void *arg)
{
	struct node *node = arg;
	struct subscriber *subscriber = &node->subscriber;
	timer_set(&subscriber->timer, PROVE_MS);
	if (subscriber->subscribed &&
	    clock_us() - subscriber->heard_us > LATE_US) {
		link_reset(
		    subscriber->link, "its own message was not received");
		return;
	}
	if (subscriber->publishing || !link_is_up(node->small.link) ||
	    !link_is_up(subscriber->link))
		return;
	struct resp command = {0};
	char message[sizeof subscriber->word + TIME_CHARS];
	snprintf(message, sizeof message, "%s%016" PRIx64, subscriber->word,
	    (uint64_t)clock_us());
	resp_begin(&command, 3);
	resp_arg(&command, SPAN("PUBLISH"));
	redis_keys_index(&command, node->store->conf, 0, "changes");
	resp_arg(&command, span_str(message));
	subscriber->publishing = true;
	subscriber->publish.done = on_published;
	link_send(node->small.link, &subscriber->publish, &command);
	resp_clear(&command);
}

/* --- what is heard --- */

void
subscriber_hear(struct store *store, struct subscriber_hearing *hearing)
{
	list_add_first(&store->hearings, &hearing->in_store);
}

static void
pass_on(struct store *store, struct span notice)
{
	struct subscriber_hearing *hearing;
	LIST_EACH(hearing, &store->hearings, in_store)
		hearing->heard(hearing->arg, notice);
}

/*
 * The key id of a record that has changed, a notice, or a subscriber's word.
 * With its own, whatever was published before the word was sent has been heard,
 * for Redis tells one connection all in order.
 */
static void
on_heard(void *arg, struct span bytes)
{
	struct node *node = arg;
	struct subscriber *subscriber = &node->subscriber;
	struct span word = span_str(subscriber->word);
	const struct store_listener *listener = &node->store->listener;
	struct key_id key_id;
	uint8_t time[TIME_CHARS / 2];
	uint64_t sent_us = 0;
	if (hex_decode(bytes, key_id.bytes, sizeof key_id.bytes)) {
		listener->changed(listener->arg, &key_id);
		return;
	}
	if (span_starts(bytes, SPAN("!"))) {
		pass_on(node->store, span_from(bytes, 1));
		return;
	}
	if (!span_starts(bytes, word) ||
	    !hex_decode(span_from(bytes, word.len), time, sizeof time))
		return;
	for (size_t i = 0; i < sizeof time; i++)
		sent_us = sent_us << 8 | time[i];
	if (sent_us > (uint64_t)clock_us())
		return;
	subscriber->heard_us = (int64_t)sent_us;
	subscriber->said_deaf = false;
	subscriber->subscribed = true;
	subscriber_sum_up(node->store);
}

/* Whatever was published before the link came up was missed. */
static void
on_link_changed(void *arg, enum link_change change)
{
	struct node *node = arg;
	const struct store_listener *listener = &node->store->listener;
	if (change == LINK_WENT_DOWN) {
		node->subscriber.subscribed = false;
		subscriber_sum_up(node->store);
	}
	if (change != LINK_CAME_UP)
		return;
	listener->changed(listener->arg, NULL);
	pass_on(node->store, SPAN(""));
	if (listener->hears != NULL)
		timer_set(&node->subscriber.timer, 0);
}

/* --- life --- */

void
subscriber_open(struct node *node)
{
	struct subscriber *subscriber = &node->subscriber;
	struct store *store = node->store;
	struct owner word;
	if (!store->listens || subscriber->link != NULL)
		return;
	owner_new(&word);
	subscriber->word[0] = '@';
	hex_encode(word.bytes, sizeof word.bytes, subscriber->word + 1);
	timer_init(&subscriber->timer, store->loop, on_prove_timer, node);
	const struct link_to to = {.socket = node->socket,
	    .host = node->place.host,
	    .port = node->place.port,
	    .master = store_health_master(store->health)};
	char *channels =
	    mem_printf("%s:{*}:changes", store->conf->store.prefix);
	const struct link_events events = {
	    .changed = on_link_changed, .heard = on_heard, .channels = channels,
	    .refused = on_refused, .arg = node};
	subscriber->link = link_new(store->loop, store->conf,
	    &store->conf->store.redis, &to, &events);
	free(channels);
}
