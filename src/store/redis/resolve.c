/* SPDX-License-Identifier: BSD-2-Clause */
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop/thread.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/redis/resolve.h"

/* The thread and the loop share it; the last of them to let go frees it. */
struct question {
	atomic_uint refs;
	int answered; /* eventfd */
	char *host;
	char address[NI_MAXHOST]; /* "": none; set before answered is written */
};

struct resolve_lookup {
	struct question *question;
	struct watch *watch;
	void (*done)(void *arg, const char *address);
	void *arg;
};

static void
question_unref(struct question *question)
{
	if (atomic_fetch_sub(&question->refs, 1) > 1)
		return;
	close(question->answered);
	free(question->host);
	free(question);
}

/* IPv4 first, as other clients of Redis do: it listens there by default. */
static void *
look_up(void *arg)
{
	static const int families[] = {AF_INET, AF_INET6};
	struct question *question = arg;
	char *address = question->address;
	for (size_t i = 0; i < 2 && address[0] == '\0'; i++) {
		struct addrinfo hints = {.ai_family = families[i],
		    .ai_socktype = SOCK_STREAM};
		struct addrinfo *list = NULL;
		if (getaddrinfo(question->host, NULL, &hints, &list) != 0)
			continue;
		if (getnameinfo(list->ai_addr, list->ai_addrlen, address,
			sizeof question->address, NULL, 0,
			NI_NUMERICHOST) != 0)
			address[0] = '\0';
		freeaddrinfo(list);
	}
	eventfd_write(question->answered, 1);
	question_unref(question);
	return NULL;
}

static void
on_looked_up(void *arg, unsigned events)
{
	(void)events;
	struct resolve_lookup *lookup = arg;
	struct question *question = lookup->question;
	void (*done)(void *arg, const char *address) = lookup->done;
	void *done_arg = lookup->arg;
	watch_free(&lookup->watch);
	free(lookup);
	done(done_arg, question->address[0] ? question->address : NULL);
	question_unref(question);
}

struct resolve_lookup *
resolve_start(struct loop *loop, const char *host,
    void (*done)(void *arg, const char *address), void *arg)
{
	struct question *question = mem_zero(sizeof *question);
	atomic_init(&question->refs, 2);
	question->host = mem_str(span_str(host));
	question->answered = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(question->answered >= 0);
	struct resolve_lookup *lookup = mem_zero(sizeof *lookup);
	*lookup = (struct resolve_lookup){question, NULL, done, arg};
	lookup->watch =
	    watch_new(loop, question->answered, on_looked_up, lookup);
	watch_want(lookup->watch, WATCH_READ);
	/* No thread, so no address; the caller will ask again. */
	if (!thread_begin(look_up, question)) {
		eventfd_write(question->answered, 1);
		question_unref(question);
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
	question_unref(l->question);
	free(l);
}
