/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/loop_uv.h"
#include "base/loop/watch.h"
#include "base/mem.h"
#include "base/must.h"

struct watch {
	uv_poll_t poll;
	unsigned wanted;
	void (*ready)(void *arg, unsigned events);
	void *arg;
};

static void
on_poll(uv_poll_t *poll, int status, int events)
{
	struct watch *watch = CONTAINER_OF(poll, struct watch, poll);
	unsigned seen = 0;
	if (events & UV_READABLE)
		seen |= WATCH_READ;
	if (events & UV_DISCONNECT)
		seen |= WATCH_HANG_UP;
	if (events & UV_WRITABLE)
		seen |= WATCH_WRITE;
	if (status < 0)
		seen = watch->wanted;
	seen &= watch->wanted;
	if (seen != 0)
		watch->ready(watch->arg, seen);
}

struct watch *
watch_new(struct loop *loop, int fd, void (*ready)(void *arg, unsigned events),
    void *arg)
{
	struct watch *watch = mem_zero(sizeof *watch);
	must(uv_poll_init(&loop->uv, &watch->poll, fd) == 0);
	watch->ready = ready;
	watch->arg = arg;
	return watch;
}

void
watch_want(struct watch *watch, unsigned events)
{
	if (events == watch->wanted)
		return;
	watch->wanted = events;
	if (events == 0) {
		uv_poll_stop(&watch->poll);
		return;
	}
	int flags = (events & WATCH_READ ? UV_READABLE : 0) |
	    (events & WATCH_WRITE ? UV_WRITABLE : 0) |
	    (events & WATCH_HANG_UP ? UV_DISCONNECT : 0);
	must(uv_poll_start(&watch->poll, flags, on_poll) == 0);
}

static void
on_watch_closed(uv_handle_t *handle)
{
	free(CONTAINER_OF(handle, struct watch, poll));
}

void
watch_free(struct watch **watch)
{
	struct watch *w = *watch;
	*watch = NULL;
	if (w != NULL)
		uv_close((uv_handle_t *)&w->poll, on_watch_closed);
}
