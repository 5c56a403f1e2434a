/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/log.h"
#include "base/mem.h"
#include "conf/address.h"
#include "store/redis/master.h"
#include "store/redis/sentinels.h"

enum { LOOK_MS = 1000 };

struct sentinel {
	struct sentinels *all;
	const char *text; /* as the configuration has it */
	struct link *asker;
	struct link *listener;
	struct link_call ask_epoch;
	struct link_call ask_address;
	bool asking;
	bool tried;     /* it has answered or failed once */
	bool said_lost; /* the log has it */
	int64_t epoch;  /* as last answered; -1: not */
};

struct sentinels {
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

static const char *
name_of(const struct sentinels *all)
{
	return all->redis->master;
}

/* --- what all of them say --- */

static void
log_master(enum event event, const struct sentinel_named *from,
    const struct sentinel_named *to)
{
	struct logline line = log_begin(event);
	if (from != NULL) {
		log_str(&line, "from", from->host);
		log_int(&line, "from_port", from->port);
	}
	log_str(&line, "to", to->host);
	log_int(&line, "to_port", to->port);
	log_int(&line, "epoch", to->epoch);
	log_end(&line);
}

static void
believe(struct sentinels *all, const struct sentinel_named *named)
{
	bool known = all->known.host[0] != '\0';
	bool same = sentinel_named_is_same(&all->known, named);
	if (!same)
		log_master(known ? EV_master_moved : EV_master_found,
		    known ? &all->known : NULL, named);
	all->known = *named;
	if (!same)
		master_set(all->master, named->host, named->port);
}

/*
 * The first belief waits for a majority, or for all to have been tried: the
 * first to answer may be the one that was cut off.
 */
static bool
may_choose(const struct sentinels *all, size_t named, size_t tried)
{
	return all->known.host[0] != '\0' || named > all->count / 2 ||
	    tried == all->count;
}

static void
log_unknown(struct sentinels *all, bool unknown)
{
	if (unknown && !all->said_unknown) {
		struct logline line = log_begin(EV_master_unknown);
		log_str(&line, "master", name_of(all));
		log_end(&line);
	}
	all->said_unknown = unknown;
}

static void
choose(struct sentinels *all)
{
	size_t named = 0, tried = 0;
	for (size_t i = 0; i < all->count; i++) {
		named += all->said[i].host[0] != '\0';
		tried += all->list[i].tried;
	}
	if (!may_choose(all, named, tried))
		return;
	const struct sentinel_named *best =
	    sentinel_choose(all->said, all->count, &all->known);
	if (best != NULL)
		believe(all, best);
	if (named > 0 || tried == all->count)
		log_unknown(all, named == 0);
}

/* --- what one of them says --- */

static struct sentinel_named *
said_by(const struct sentinel *sentinel)
{
	return &sentinel->all->said[sentinel - sentinel->all->list];
}

/* It names no master now; message says why. */
static void
on_lost(struct sentinel *sentinel, const char *message)
{
	*said_by(sentinel) = (struct sentinel_named){0};
	sentinel->tried = true;
	if (!sentinel->said_lost) {
		sentinel->said_lost = true;
		struct logline line = log_begin(EV_sentinel_lost);
		log_str(&line, "sentinel", sentinel->text);
		log_str(&line, "error", message);
		log_end(&line);
	}
	choose(sentinel->all);
}

static void
on_named(struct sentinel *sentinel, const struct sentinel_named *named)
{
	*said_by(sentinel) = *named;
	sentinel->tried = true;
	if (sentinel->said_lost) {
		sentinel->said_lost = false;
		struct logline line = log_begin(EV_sentinel_back);
		log_str(&line, "sentinel", sentinel->text);
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
	if (reply == NULL || sentinel_read_epoch(reply, &sentinel->epoch))
		return;
	on_lost(sentinel, reply->type == REDIS_REPLY_ERROR
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
	if (sentinel_read_address(reply, named.host, &named.port))
		on_named(sentinel, &named);
	else
		on_lost(sentinel, "the address that it names cannot be read");
}

static void
ask_sentinel(struct sentinel *sentinel)
{
	if (sentinel->asking || !link_is_up(sentinel->asker))
		return;
	struct resp question = {0};
	sentinel->asking = true;
	sentinel_ask_epoch(&question, name_of(sentinel->all));
	link_send(sentinel->asker, &sentinel->ask_epoch, &question);
	resp_clear(&question);
	sentinel_ask_address(&question, name_of(sentinel->all));
	link_send(sentinel->asker, &sentinel->ask_address, &question);
	resp_clear(&question);
}

static void
on_timer(void *arg)
{
	struct sentinels *all = arg;
	timer_set(&all->timer, LOOK_MS);
	for (size_t i = 0; i < all->count; i++)
		ask_sentinel(&all->list[i]);
}

/* --- links --- */

static void
on_asker_failed(void *arg)
{
	struct sentinel *sentinel = arg;
	if (!sentinel->all->ending)
		on_lost(sentinel, link_message(sentinel->asker));
}

/* A listener has no pulse of its own: when the asker is lost, so is it. */
static void
on_asker_changed(void *arg, bool up)
{
	struct sentinel *sentinel = arg;
	if (up) {
		ask_sentinel(sentinel);
		return;
	}
	on_asker_failed(sentinel);
	if (!sentinel->all->ending)
		link_reset(
		    sentinel->listener, "its Sentinel cannot be reached");
}

/* Asks for what it may have missed while it did not listen. */
static void
on_listener_changed(void *arg, bool up)
{
	if (up)
		ask_sentinel(arg);
}

static void
on_listener_failed(void *arg)
{
	(void)arg;
}

static void
on_heard(void *arg, struct span message)
{
	struct sentinel *sentinel = arg;
	if (sentinel_tells_of(message, name_of(sentinel->all)))
		ask_sentinel(sentinel);
}

static void
open_links(
    struct sentinel *sentinel, struct loop *loop, const char *text)
{
	const struct link_events asker = {.changed = on_asker_changed,
	    .failed = on_asker_failed,
	    .arg = sentinel};
	const struct link_events listener = {.changed = on_listener_changed,
	    .failed = on_listener_failed,
	    .heard = on_heard,
	    .channels = "+switch-master",
	    .arg = sentinel};
	char *host;
	struct link_to to = {.sentinel = true};
	address_split(text, &host, &to.port);
	to.host = host;
	sentinel->text = text;
	sentinel->ask_epoch.done = on_epoch;
	sentinel->ask_address.done = on_address;
	sentinel->asker = link_new(
	    loop, sentinel->all->conf, sentinel->all->redis, &to, &asker);
	sentinel->listener = link_new(loop, sentinel->all->conf,
	    sentinel->all->redis, &to, &listener);
	free(host);
}

/* --- life --- */

struct sentinels *
sentinels_new(struct loop *loop, const struct conf *conf,
    const struct conf_redis *redis, struct master *master)
{
	size_t count = redis->sentinels.count;
	struct sentinels *all =
	    mem_zero(sizeof *all + count * sizeof *all->list);
	all->conf = conf_ref(conf);
	all->redis = redis;
	all->master = master;
	all->count = count;
	all->said = mem_zero(count * sizeof *all->said);
	timer_init(&all->timer, loop, on_timer, all);
	timer_set(&all->timer, LOOK_MS);
	for (size_t i = 0; i < count; i++) {
		all->list[i].all = all;
		open_links(&all->list[i], loop, redis->sentinels.list[i]);
	}
	return all;
}

void
sentinels_free(struct sentinels **sentinels)
{
	struct sentinels *all = *sentinels;
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
