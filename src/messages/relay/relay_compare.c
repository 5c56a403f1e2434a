/* SPDX-License-Identifier: BSD-2-Clause */
#include "messages/relay/relay_compare.h"

static void
forget_end(void *arg, unsigned shard)
{
	(void)arg;
	(void)shard;
}

/* Who reads it later will see that too. */
static void
forget_lost(void *arg, unsigned shard, uint64_t count)
{
	(void)arg;
	(void)shard;
	(void)count;
}

static void
forget_begin(void *arg, const struct relay_mark *mark)
{
	(void)arg;
	(void)mark;
}

static void
on_compared(void *arg)
{
	struct relay_run *run = arg;
	task_ready(run->worker->loop, &run->settle);
}

void
relay_compare_begin(struct relay_run *run, const struct relay_mark *marks)
{
	const struct relay_stream_events events = {.began = forget_begin,
	    .lost = forget_lost, .again = forget_end,
	    .settled = on_compared, .arg = run};
	relay_stream_start(&run->stream, run->worker->store,
	    run->worker->loop, marks, &events);
	run->compares = true;
}
