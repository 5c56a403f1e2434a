/* SPDX-License-Identifier: BSD-2-Clause */
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop/resolve.h"
#include "base/loop/thread.h"
#include "base/mem.h"
#include "base/must.h"

/* The thread and the loop share it; the last of them to let go frees it. */
struct resolve_lookup {
	atomic_uint refs;
	char *host;
	char address[NI_MAXHOST]; /* "": none; set before answered is written */
	int answered;             /* eventfd */
	/* The loop's alone: */
	struct watch *watch;
	void (*done)(void *arg, const char *address);
	void *arg;
};

static void
unref(struct resolve_lookup *lookup)
{
	if (atomic_fetch_sub(&lookup->refs, 1) > 1)
		return;
	close(lookup->answered);
	free(lookup->host);
	free(lookup);
}

/* IPv4 first, as other clients of Redis do: it listens there by default. */
static void *
look_up(void *arg)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct resolve_lookup *lookup = arg;
	char *address = lookup->address;
	for (size_t i = 0; i < 2 && address[0] == '\0'; i++) {
		struct addrinfo hints = {.ai_family = families[i],
		    .ai_socktype = SOCK_STREAM};
		struct addrinfo *list = NULL;
		if (getaddrinfo(lookup->host, NULL, &hints, &list) != 0)
			continue;
		if (getnameinfo(list->ai_addr, list->ai_addrlen, address,
			sizeof lookup->address, NULL, 0, NI_NUMERICHOST) != 0)
			address[0] = '\0';
		freeaddrinfo(list);
	}
	eventfd_write(lookup->answered, 1);
	unref(lookup);
	return NULL;
}

static void
on_looked_up(void *arg, unsigned events)
{
	struct resolve_lookup *lookup = arg;
	(void)events;
	watch_free(&lookup->watch);
	lookup->done(
	    lookup->arg, lookup->address[0] ? lookup->address : NULL);
	unref(lookup);
}

struct resolve_lookup *
resolve_start(struct loop *loop, const char *host,
    void (*done)(void *arg, const char *address), void *arg)
{
	struct resolve_lookup *lookup = mem_zero(sizeof *lookup);
	atomic_init(&lookup->refs, 2);
	lookup->host = mem_str(span_str(host));
	lookup->answered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(lookup->answered >= 0);
	lookup->done = done;
	lookup->arg = arg;
	lookup->watch =
	    watch_new(loop, lookup->answered, WATCH_READ, on_looked_up, lookup);
	/* No thread, so no address; the caller will ask again. */
	if (!thread_begin(look_up, lookup)) {
		eventfd_write(lookup->answered, 1);
		unref(lookup);
	}
	return lookup;
}

void
resolve_cancel(struct resolve_lookup **lookup)
{
	struct resolve_lookup *l = *lookup;
	*lookup = NULL;
	if (l == NULL)
		return;
	watch_free(&l->watch);
	unref(l);
}
