/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "store/record/event.h"

/*
 * Reads the events streams of all shards as one, in the order of time, on
 * connections of its own to the one Redis, the master that Sentinels name, or
 * the masters of a cluster.  It changes nothing there and has no position of
 * its own in Redis.  It blocks, up to store.timeout with each question.  One
 * thread.
 */
struct events_query;

/* What it has to say besides events: a sentence; some of them are lost. */
typedef void events_query_say(void *arg, const char *words);

/* Where to begin, the same in all shards but the shard of an entry. */
enum events_from { EVENTS_ALL, EVENTS_NOW, EVENTS_SINCE };

/*
 * conf and since live as long as it does.  Without follow it gives what there
 * is at first, and no more.
 */
struct events_query *events_query_new(const struct conf *conf,
    enum events_from from, const struct event_id *since, bool follow,
    events_query_say *say, void *arg);
/* Nulls the caller's pointer, accepts NULL. */
void events_query_free(struct events_query **query);

/*
 * Connects, or connects anew, and goes on behind what was read; false, with a
 * message that the caller frees.
 */
MUST_USE bool events_query_connect(
    struct events_query *query, char **ret_message);
/*
 * The next event in *ret_event, which the caller drops; NULL there: there is no
 * more now, and with follow there may be later.  False: the connection has to
 * be made anew, with a message that the caller frees.
 */
MUST_USE bool events_query_next(
    struct events_query *query, json_t **ret_event, char **ret_message);
