/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/front/linger.h"

enum {
	READS_AT_ONCE = 64,
	READ_BYTES = 16384,
};

struct lingerer {
	struct list link;
	struct lingering *all;
	struct watch *watch;
	struct timer deadline;
	struct linger_limits limits;
	size_t dropped;
	int64_t since_ms;
	int fd;
};

/* Its time is over, too. */
static void
end(void *arg)
{
	struct lingerer *l = arg;
	list_remove(&l->link);
	l->all->count--;
	timer_clear(&l->deadline);
	watch_free(&l->watch);
	close(l->fd);
	if (l->limits.places != NULL)
		places_give(l->limits.places);
	task_rest(l->all->loop, l, free);
}

static void
on_bytes(void *arg, unsigned events)
{
	struct lingerer *l = arg;
	char bytes[READ_BYTES];
	ssize_t n = 1;
	(void)events;
	for (int reads = 0; n > 0 && reads < READS_AT_ONCE; reads++) {
		n = recv(l->fd, bytes, sizeof bytes, MSG_DONTWAIT);
		l->dropped += n > 0 ? (size_t)n : 0;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
	    l->dropped >= l->limits.bytes)
		end(l);
}

void
linger_begin(
    struct lingering *all, int fd, const struct linger_limits *limits)
{
	struct lingerer *l = mem_zero(sizeof *l);
	l->all = all;
	l->fd = fd;
	l->limits = *limits;
	l->since_ms = loop_now_ms(all->loop);
	list_add_last(&all->list, &l->link);
	all->count++;
	(void)shutdown(fd, SHUT_WR);
	timer_init(&l->deadline, all->loop, end, l);
	timer_set(&l->deadline, limits->ms);
	l->watch = watch_new(all->loop, fd, WATCH_READ, on_bytes, l);
}

bool
linger_make_way(struct lingering *all, int64_t ms)
{
	struct lingerer *first = LIST_FIRST(&all->list, struct lingerer, link);
	if (first == NULL || first->limits.places == NULL ||
	    loop_now_ms(all->loop) - first->since_ms < ms)
		return false;
	end(first);
	return true;
}

void
linger_end(struct lingering *all)
{
	struct lingerer *l;
	LIST_EACH(l, &all->list, link)
		end(l);
}
