/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/loop_uv.h"
#include "base/loop/work.h"
#include "base/mem.h"
#include "base/must.h"

struct work {
	uv_work_t uv;
	uv_sem_t over; /* run has returned */
	bool finished; /* done was called */
	void (*run)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

static void
on_thread(uv_work_t *uv)
{
	struct work *work = CONTAINER_OF(uv, struct work, uv);
	work->run(work->arg);
	uv_sem_post(&work->over);
}

static void
on_over(uv_work_t *uv, int status)
{
	struct work *work = CONTAINER_OF(uv, struct work, uv);
	(void)status; /* only UV_ECANCELED, and nobody cancels */
	if (!work->finished)
		work->done(work->arg);
	uv_sem_destroy(&work->over);
	free(work);
}

struct work *
work_start(struct loop *loop, void (*run)(void *arg), void (*done)(void *arg),
    void *arg)
{
	struct work *work = mem_zero(sizeof *work);
	work->run = run;
	work->done = done;
	work->arg = arg;
	must(uv_sem_init(&work->over, 0) == 0);
	must(uv_queue_work(&loop->uv, &work->uv, on_thread, on_over) == 0);
	return work;
}

/* The loop still hears of its end, at the latest in loop_free. */
void
work_finish(struct work **work)
{
	struct work *w = *work;
	*work = NULL;
	if (w == NULL)
		return;
	must(!w->finished);
	uv_sem_wait(&w->over);
	w->finished = true;
	w->done(w->arg);
}
