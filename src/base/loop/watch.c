/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/container.h"
#include "base/loop/loop_uv.h"
#include "base/loop/watch.h"
#include "base/mem.h"
#include "base/must.h"

_Static_assert((int)WATCH_READ == UV_READABLE &&
	(int)WATCH_WRITE == UV_WRITABLE && (int)WATCH_HANG_UP == UV_DISCONNECT,
    "our flags are libuv's");

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
	unsigned seen = watch->wanted;
	if (status >= 0)
		seen &= (unsigned)events;
	if (seen != 0)
		watch->ready(watch->arg, seen);
}

struct watch *
watch_new(struct loop *loop, int fd, unsigned events,
    void (*ready)(void *arg, unsigned events), void *arg)
{
	struct watch *watch = mem_zero(sizeof *watch);
	must(uv_poll_init(&loop->uv, &watch->poll, fd) == 0);
	watch->ready = ready;
	watch->arg = arg;
	watch_want(watch, events);
	return watch;
}

void
watch_want(struct watch *watch, unsigned events)
{
	if (events == watch->wanted)
		return;
	watch->wanted = events;
	if (events == 0)
		uv_poll_stop(&watch->poll);
	else
		must(uv_poll_start(&watch->poll, (int)events, on_poll) == 0);
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
