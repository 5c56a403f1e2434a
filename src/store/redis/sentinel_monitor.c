/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/address.h"
#include "store/redis/link.h"
#include "store/redis/master.h"
#include "store/redis/sentinel_monitor.h"

enum { ASK_MS = 1000 };

struct sentinel {
	struct sentinel_monitor *all;
	const char *text; /* as the configuration has it */
	struct link *asker;
	struct link *listener;
	struct link_call ask_epoch;
	struct link_call ask_address;
	bool asking;
	bool tried;     /* it has answered or failed once */
	bool said_lost; /* the log has it */
	int64_t epoch;  /* as last answered; -1: not */
	struct sentinel_named *said; /* its own in all->said */
};

struct sentinel_monitor {
	const struct conf *conf;
	const struct conf_redis *redis; /* of that */
	struct master *master;
	struct timer timer;
	struct sentinel_named known; /* what the master was last set to */
	bool said_unknown;  /* the log has it that none names a master */
	bool ending;        /* our own doing is no news */
	size_t count;
	struct sentinel_named *said; /* what each of them says now */
	struct sentinel list[];
};

/* --- what all of them say --- */

static void
choose(struct sentinel_monitor *all)
{
	bool known = all->known.host[0] != '\0';
	size_t named = 0, tried = 0;
	for (size_t i = 0; i < all->count; i++) {
		named += all->said[i].host[0] != '\0';
		tried += all->list[i].tried;
	}
	/*
	 * The first belief waits for a majority, or for all to have been tried:
	 * the first to answer may be the one that was cut off.
	 */
	if (!known && named <= all->count / 2 && tried < all->count)
		return;
	const struct sentinel_named *best =
	    sentinel_protocol_choose(all->said, all->count, &all->known);
	if (best != NULL &&
	    !sentinel_protocol_named_is_same(&all->known, best)) {
		struct logline line = log_begin(
		    known ? EV_master_moved : EV_master_found);
		if (known) {
			log_str(&line, "from", all->known.host);
			log_int(&line, "from_port", all->known.port);
		}
		log_str(&line, "to", best->host);
		log_int(&line, "to_port", best->port);
		log_int(&line, "epoch", best->epoch);
		log_end(&line);
		master_set(all->master, best->host, best->port);
		master_tell(all->master);
	}
	if (best != NULL)
		all->known = *best;
	if (named > 0) {
		all->said_unknown = false;
	} else if (tried == all->count && !all->said_unknown) {
		all->said_unknown = true;
		log_event_str(
		    EV_master_unknown, "master", all->redis->master);
	}
}

/* --- what one of them says --- */

/* It names that master; or none (NULL), and why says why. */
static void
on_answer(struct sentinel *sentinel, const struct sentinel_named *named,
    const char *why)
{
	bool lost = named == NULL;
	*sentinel->said = lost ? (struct sentinel_named){0} : *named;
	sentinel->tried = true;
	if (sentinel->said_lost != lost) {
		sentinel->said_lost = lost;
		struct logline line =
		    log_begin(lost ? EV_sentinel_lost : EV_sentinel_back);
		log_str(&line, "sentinel", sentinel->text);
		if (lost)
			log_str(&line, "error", why);
		log_end(&line);
	}
	choose(sentinel->all);
}

/* Without a reply the link is lost, and on_asker_changed deals with that. */
static void
on_epoch(struct link_call *call, const redisReply *reply)
{
	struct sentinel *sentinel =
	    CONTAINER_OF(call, struct sentinel, ask_epoch);
	sentinel->epoch = -1;
	if (reply == NULL ||
	    sentinel_protocol_read_epoch(reply, &sentinel->epoch))
		return;
	on_answer(sentinel, NULL, reply->type == REDIS_REPLY_ERROR
		? reply->str
		: "its answer about the master cannot be read");
}

static void
on_address(struct link_call *call, const redisReply *reply)
{
	struct sentinel *sentinel =
	    CONTAINER_OF(call, struct sentinel, ask_address);
	struct sentinel_named named = {.epoch = sentinel->epoch};
	sentinel->asking = false;
	if (reply == NULL || sentinel->epoch < 0)
		return;
	if (sentinel_protocol_read_address(reply, named.host, &named.port))
		on_answer(sentinel, &named, NULL);
	else
		on_answer(sentinel, NULL,
		    "the address that it names cannot be read");
}

static void
ask_sentinel(struct sentinel *sentinel)
{
	if (sentinel->asking || !link_is_up(sentinel->asker))
		return;
	const char *master = sentinel->all->redis->master;
	struct resp question = {0};
	sentinel->asking = true;
	sentinel_protocol_ask(&question, SENTINEL_EPOCH, master);
	link_send(sentinel->asker, &sentinel->ask_epoch, &question);
	question.len = 0;
	sentinel_protocol_ask(&question, SENTINEL_ADDRESS, master);
	link_send(sentinel->asker, &sentinel->ask_address, &question);
	resp_clear(&question);
}

static void
on_timer(void *arg)
{
	struct sentinel_monitor *all = arg;
	timer_set(&all->timer, ASK_MS);
	for (size_t i = 0; i < all->count; i++)
		ask_sentinel(&all->list[i]);
}

/* --- links --- */

/* A listener has no pulse of its own: when the asker is lost, so is it. */
static void
on_asker_changed(void *arg, enum link_change change)
{
	struct sentinel *sentinel = arg;
	if (change == LINK_CAME_UP) {
		ask_sentinel(sentinel);
		return;
	}
	if (sentinel->all->ending)
		return;
	on_answer(sentinel, NULL, link_message(sentinel->asker));
	if (change == LINK_WENT_DOWN)
		link_reset(
		    sentinel->listener, "its Sentinel cannot be reached");
}

/* Asks for what it may have missed while it did not listen. */
static void
on_listener_changed(void *arg, enum link_change change)
{
	if (change == LINK_CAME_UP)
		ask_sentinel(arg);
}

/* Some master has moved: it may be ours. */
static void
on_heard(void *arg, struct span message)
{
	(void)message;
	ask_sentinel(arg);
}

/* --- life --- */

struct sentinel_monitor *
sentinel_monitor_new(struct loop *loop, const struct conf *conf,
    const struct conf_redis *redis, struct master *master)
{
	size_t count = redis->sentinels.count;
	struct sentinel_monitor *all =
	    mem_zero(sizeof *all + count * sizeof *all->list);
	all->conf = conf_ref(conf);
	all->redis = redis;
	all->master = master;
	all->count = count;
	all->said = mem_zero(count * sizeof *all->said);
	timer_init(&all->timer, loop, on_timer, all);
	timer_set(&all->timer, ASK_MS);
	for (size_t i = 0; i < count; i++) {
		struct sentinel *sentinel = &all->list[i];
		const struct link_events asker = {
		    .changed = on_asker_changed, .arg = sentinel};
		const struct link_events listener = {
		    .changed = on_listener_changed,
		    .heard = on_heard,
		    .channels = "+switch-master",
		    .arg = sentinel};
		char *host;
		struct link_to to = {.sentinel = true};
		sentinel->all = all;
		sentinel->text = redis->sentinels.list[i];
		sentinel->said = &all->said[i];
		sentinel->ask_epoch.done = on_epoch;
		sentinel->ask_address.done = on_address;
		address_split(sentinel->text, &host, &to.port);
		to.host = host;
		sentinel->asker = link_new(loop, conf, redis, &to, &asker);
		sentinel->listener =
		    link_new(loop, conf, redis, &to, &listener);
		free(host);
	}
	return all;
}

void
sentinel_monitor_free(struct sentinel_monitor **sentinels)
{
	struct sentinel_monitor *all = *sentinels;
	*sentinels = NULL;
	if (all == NULL)
		return;
	timer_clear(&all->timer);
	all->ending = true;
	for (size_t i = 0; i < all->count; i++) {
		link_free(&all->list[i].asker);
		link_free(&all->list[i].listener);
	}
	conf_unref(&all->conf);
	free(all->said);
	free(all);
}
