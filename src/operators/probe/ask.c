/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "http/upstream/upstreams.h"
#include "operators/probe/ask.h"

enum {
	HEAD_MAX_BYTES = 16 * 1024,
	BODY_MAX_BYTES = 64 * 1024,
	ANSWER_MS = 10 * 1000,
};

struct asks {
	struct loop *loop;
	struct budget budget;
	struct upstreams *upstreams;
	/* Their hosts are named as they are: no client has named another. */
	struct conf_upstream *named;
	struct ask_question *list;
	size_t count;
	size_t pending;
};

static struct field agent = {
    {"User-Agent", sizeof "User-Agent" - 1},
    {"onceproxy", sizeof "onceproxy" - 1}};

static void
note_reply(void *arg)
{
	struct ask_question *one = arg;
	if (--one->all->pending == 0)
		loop_stop(one->all->loop);
}

struct asks *
ask_all(const struct conf *conf, struct ask_question *list, size_t count)
{
	struct asks *all = mem_zero(sizeof *all);
	size_t n = conf->n_upstreams;
	atomic_store(&all->budget.limit, SIZE_MAX / 2);
	all->loop = loop_new();
	all->named = mem_copy(conf->upstreams, n * sizeof *all->named);
	for (size_t i = 0; i < n; i++)
		all->named[i].host = HOST_TARGET;
	all->upstreams = upstreams_new(
	    all->loop, conf, &all->budget, all->named, n);
	all->list = list;
	all->pending = all->count = count;
	for (size_t i = 0; i < count; i++) {
		struct ask_question *one = &list[i];
		const struct message question = {
		    .method = SPAN("GET"),
		    .target = one->target,
		    .fields = {&agent, 1},
		};
		const struct forward_limits limits = {
		    .timeout_ms = ANSWER_MS,
		    .max_head = HEAD_MAX_BYTES,
		    .max_body = BODY_MAX_BYTES,
		    .close_delimited = one->upstream->close_delimited,
		};
		one->all = all;
		op_init(&one->forward.op, all->loop, note_reply, one);
		forward_start(all->upstreams, &one->forward,
		    &all->named[one->upstream->index], &question, &limits);
	}
	if (count > 0)
		loop_run(all->loop);
	return all;
}

void
ask_end(struct asks **asks)
{
	struct asks *all = *asks;
	*asks = NULL;
	if (all == NULL)
		return;
	for (size_t i = 0; i < all->count; i++) {
		forward_stop(&all->list[i].forward);
		forward_clear(&all->list[i].forward);
	}
	upstreams_free(&all->upstreams);
	loop_free(&all->loop);
	free(all->named);
	free(all);
}
