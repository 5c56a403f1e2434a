/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/conf.h"
#include "operators/probe/events_shard.h"

/*
 * Reads the events streams of all shards as one, in the order of time, on
 * connections of its own to the one Redis, the master that Sentinels name, or
 * the masters of a cluster.  It changes nothing there and has no position of
 * its own in Redis.  It blocks, up to store.timeout with each question, but not
 * while it waits for events.  One thread.
 */
struct events_query;

/* What it has to say besides events: a sentence, and whether some are lost. */
typedef void events_query_say(void *arg, const char *words);

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
 * more now.  False: the connection has to be made anew, with a message that the
 * caller frees.
 */
MUST_USE bool events_query_next(struct events_query *query,
    json_t **ret_event, char **ret_message);

/*
 * Asks to be told of the next event.  *ret_fd becomes readable when there is
 * one, or after EVENTS_QUERY_BLOCK_MS; events_query_waited comes next, in any
 * case.  -1: a cluster tells nothing, so ask again after a moment.
 */
enum { EVENTS_QUERY_BLOCK_MS = 1000 };
MUST_USE bool events_query_wait(
    struct events_query *query, int *ret_fd, char **ret_message);
/* Takes what came of that; events_query_next has it. */
MUST_USE bool events_query_waited(
    struct events_query *query, char **ret_message);
