/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/loop/thread.h"
#include "base/mem.h"
#include "base/must.h"
#include "messages/broker/kafka/kafka_ledger_private.h"
#include "messages/broker/kafka/kafka_name.h"

enum {
	LISTEN_MS = 1000, /* librdkafka is heard so often */
	RETRY_MS = 1000,
	/*
	 * What is committed is forgotten where it is not committed again for
	 * as long as the brokers say (offsets.retention.minutes); and so is
	 * found, even if there is nothing to put, who else has opened it.
	 */
	BEAT_MS = 60000,
	LATE_MS = 5000, /* a batch is usually there in a fraction of it */
};

static _Thread_local struct kafka_ledger *leaving;

static void on_over(void *arg);

/* --- memory of both --- */

static void
free_batch(struct kafka_ledger_batch *batch)
{
	struct arena *arena = batch != NULL ? batch->arena : NULL;
	arena_free(&arena);
}

static void
free_ledger(struct kafka_ledger *l)
{
	free_batch(l->put);
	free_batch(l->batch);
	pthread_cond_destroy(&l->wake);
	pthread_mutex_destroy(&l->mutex);
	free(l->found);
	free(l->kept);
	free(l->ahead);
	free(l->topic);
	free(l->client);
	free(l->id);
	conf_unref(&l->conf);
	free(l);
}

static void
unref(struct kafka_ledger *l)
{
	pthread_mutex_lock(&l->mutex);
	unsigned refs = --l->refs;
	pthread_mutex_unlock(&l->mutex);
	if (refs == 0)
		free_ledger(l);
}

/* --- the loop's side --- */

static void
tell_owner(struct kafka_ledger *l, const struct kafka_ledger_news *news)
{
	const struct kafka_ledger_events *events = &l->events;
	bool changed = l->up != news->up || strcmp(l->message, news->words);
	l->up = news->up;
	snprintf(l->message, sizeof l->message, "%s", news->words);
	if (changed)
		events->changed(events->arg);
	if (news->opened && !atomic_load(&l->closed))
		events->opened(events->arg, l->found);
	if (news->done && !atomic_load(&l->closed)) {
		l->busy = false;
		events->done(events->arg);
	}
	if (news->fenced && !atomic_load(&l->closed))
		events->fenced(events->arg);
}

static void
on_posted(void *arg)
{
	struct kafka_ledger *l = arg;
	pthread_mutex_lock(&l->mutex);
	struct kafka_ledger_news news = l->news;
	l->news.opened = l->news.fenced = l->news.done = false;
	l->posted = false;
	pthread_mutex_unlock(&l->mutex);
	if (!atomic_load(&l->closed))
		tell_owner(l, &news);
	unref(l);
}

/* With the mutex.  Nobody is told any more once it is closed. */
static void
post(struct kafka_ledger *l)
{
	if (l->posted || atomic_load(&l->closed))
		return;
	l->posted = true;
	l->refs++;
	loop_post(l->loop, on_posted, l);
}

/* --- the thread --- */

int64_t
kafka_ledger_now_ms(void)
{
	return clock_us() / 1000;
}

void
kafka_ledger_say(struct kafka_ledger *l, bool up, const char *words)
{
	pthread_mutex_lock(&l->mutex);
	if (l->news.up != up || strcmp(l->news.words, words) != 0) {
		l->news.up = up;
		snprintf(l->news.words, sizeof l->news.words, "%s", words);
		post(l);
	}
	pthread_mutex_unlock(&l->mutex);
}

void
kafka_ledger_bring(struct kafka_ledger *l)
{
	struct kafka_ledger_batch *batch = l->batch;
	l->batch = NULL;
	free_batch(batch);
	pthread_mutex_lock(&l->mutex);
	l->news.done = true;
	post(l);
	pthread_mutex_unlock(&l->mutex);
}

static struct timespec
time_in(int64_t ms)
{
	struct timespec at;
	must(clock_gettime(CLOCK_MONOTONIC, &at) == 0);
	at.tv_sec += ms / 1000;
	at.tv_nsec += ms % 1000 * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_sec++;
		at.tv_nsec -= 1000000000;
	}
	return at;
}

void
kafka_ledger_rest(struct kafka_ledger *l, int64_t ms)
{
	struct timespec until = time_in(ms);
	pthread_mutex_lock(&l->mutex);
	while (!atomic_load(&l->closed) &&
	    pthread_cond_timedwait(&l->wake, &l->mutex, &until) == 0)
		;
	pthread_mutex_unlock(&l->mutex);
}

/* The next batch, or none within a while. */
static void
wait_for_work(struct kafka_ledger *l)
{
	struct timespec until = time_in(LISTEN_MS);
	pthread_mutex_lock(&l->mutex);
	while (!atomic_load(&l->closed) && l->put == NULL && !l->beats &&
	    pthread_cond_timedwait(&l->wake, &l->mutex, &until) == 0)
		;
	l->batch = l->put;
	l->put = NULL;
	pthread_mutex_unlock(&l->mutex);
}

static void
work(struct kafka_ledger *l)
{
	if (l->batch == NULL) {
		kafka_ledger_client_listen(l);
		wait_for_work(l);
	}
	if (kafka_ledger_now_ms() - l->beat_ms > BEAT_MS)
		l->beats = true;
	if ((l->batch != NULL || l->beats) && !atomic_load(&l->closed))
		kafka_ledger_write(l);
}

static void
tell_opened(struct kafka_ledger *l)
{
	pthread_mutex_lock(&l->mutex);
	l->news.opened = true;
	post(l);
	pthread_mutex_unlock(&l->mutex);
}

static void
be_made(struct kafka_ledger *l)
{
	bool was_open = l->is_open;
	if (!kafka_ledger_client_make(l)) {
		if (!l->is_fenced)
			kafka_ledger_rest(l, RETRY_MS);
	} else if (!was_open) {
		tell_opened(l);
	}
}

/* There is nothing to be done any more but to be closed. */
static void
be_fenced(struct kafka_ledger *l)
{
	kafka_ledger_client_drop(l);
	pthread_mutex_lock(&l->mutex);
	l->news.fenced = true;
	post(l);
	while (!atomic_load(&l->closed))
		pthread_cond_wait(&l->wake, &l->mutex);
	pthread_mutex_unlock(&l->mutex);
}

static void *
keep_ledger(void *arg)
{
	struct kafka_ledger *l = arg;
	while (!atomic_load(&l->closed)) {
		if (l->is_fenced)
			be_fenced(l);
		else if (l->producer == NULL)
			be_made(l);
		else
			work(l);
	}
	kafka_ledger_client_drop(l);
	arena_trim();
	pthread_mutex_lock(&l->mutex);
	if (!l->abandoned) {
		l->refs++;
		loop_post(l->loop, on_over, l);
	}
	pthread_mutex_unlock(&l->mutex);
	unref(l);
	return NULL;
}

/* --- life --- */

/* Who still leaves is in the list, unless it was abandoned. */
static void
on_over(void *arg)
{
	struct kafka_ledger *l = arg;
	struct kafka_ledger **at = &leaving;
	while (*at != NULL && *at != l)
		at = &(*at)->next;
	if (*at == l) {
		*at = l->next;
		unref(l);
	}
	unref(l);
}

/* Where there is no thread, one may be there later. */
static void
begin_thread(void *arg)
{
	struct kafka_ledger *l = arg;
	l->begun = thread_begin(keep_ledger, l);
	if (l->begun)
		return;
	kafka_ledger_say(l, false, "no thread can be made");
	timer_set(&l->begin, RETRY_MS);
}

static void
init_mutex(struct kafka_ledger *l)
{
	pthread_condattr_t by_clock;
	must(pthread_mutex_init(&l->mutex, NULL) == 0);
	must(pthread_condattr_init(&by_clock) == 0);
	must(pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC) == 0);
	must(pthread_cond_init(&l->wake, &by_clock) == 0);
	pthread_condattr_destroy(&by_clock);
}

struct kafka_ledger *
kafka_ledger_open(const struct kafka_ledger_start *start)
{
	struct kafka_ledger *l = mem_zero(sizeof *l);
	l->loop = start->loop;
	l->conf = conf_ref(start->conf);
	l->broker = start->broker;
	l->topic = mem_str(span_str(start->topic));
	l->client = mem_printf(
	    "onceproxy-%s-%s", start->relay, start->conf->instance);
	l->id = kafka_name_relay(start->relay, start->store);
	l->turn = start->turn;
	l->shards = start->shards;
	l->groups =
	    (l->shards + KAFKA_LEDGER_SHARDS - 1) / KAFKA_LEDGER_SHARDS;
	l->events = *start->events;
	l->kept = mem_zero(l->shards * sizeof *l->kept);
	l->ahead = mem_zero(l->shards * sizeof *l->ahead);
	l->found = mem_zero(l->shards * sizeof *l->found);
	l->refs = 2;
	init_mutex(l);
	timer_init(&l->begin, l->loop, begin_thread, l);
	begin_thread(l);
	return l;
}

void
kafka_ledger_close(struct kafka_ledger **ledger)
{
	struct kafka_ledger *l = *ledger;
	*ledger = NULL;
	if (l == NULL)
		return;
	timer_clear(&l->begin);
	if (!l->begun) {
		atomic_store(&l->closed, true);
		unref(l);
		unref(l);
		return;
	}
	l->next = leaving;
	leaving = l;
	pthread_mutex_lock(&l->mutex);
	atomic_store(&l->closed, true);
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->mutex);
}

void
kafka_ledger_put(struct kafka_ledger *l, struct kafka_ledger_batch *batch)
{
	must(!l->busy);
	l->busy = true;
	l->put_ms = loop_now_ms(l->loop);
	pthread_mutex_lock(&l->mutex);
	l->put = batch;
	pthread_cond_signal(&l->wake);
	pthread_mutex_unlock(&l->mutex);
}

/* Calls of librdkafka wait for each request as long as its connection may. */
static bool
is_late(const struct kafka_ledger *l)
{
	return l->busy && loop_now_ms(l->loop) - l->put_ms > LATE_MS;
}

bool
kafka_ledger_is_up(const struct kafka_ledger *l)
{
	return l->up && !is_late(l);
}

const char *
kafka_ledger_message(const struct kafka_ledger *l)
{
	return l->up && is_late(l) ? "no broker answers" : l->message;
}

size_t
kafka_ledger_leaving(const struct loop *loop)
{
	size_t count = 0;
	for (struct kafka_ledger *l = leaving; l != NULL; l = l->next)
		count += l->loop == loop;
	return count;
}

void
kafka_ledger_abandon(const struct loop *loop)
{
	struct kafka_ledger **at = &leaving;
	while (*at != NULL) {
		struct kafka_ledger *l = *at;
		if (l->loop != loop) {
			at = &l->next;
			continue;
		}
		*at = l->next;
		pthread_mutex_lock(&l->mutex);
		l->abandoned = true;
		pthread_mutex_unlock(&l->mutex);
		unref(l);
	}
}
