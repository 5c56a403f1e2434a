/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/must.h"
#include "lib/stage.h"

enum { ADDRESSES_MAX = 4 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static char *addresses[ADDRESSES_MAX]; /* as text */
static bool hanging;
static unsigned resolved;
static atomic_int_fast64_t passed_ms;

/* --- the resolver --- */

void
stage_addresses(const char *const *list)
{
	pthread_mutex_lock(&mutex);
	for (unsigned i = 0; i < ADDRESSES_MAX; i++) {
		free(addresses[i]);
		addresses[i] = NULL;
	}
	for (unsigned i = 0; list[i] != NULL; i++) {
		must(i < ADDRESSES_MAX);
		addresses[i] = mem_str(span_str(list[i]));
	}
	pthread_mutex_unlock(&mutex);
}

void
stage_resolver_hangs(bool hangs)
{
	pthread_mutex_lock(&mutex);
	hanging = hangs;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

unsigned
stage_resolved(void)
{
	pthread_mutex_lock(&mutex);
	unsigned count = resolved;
	pthread_mutex_unlock(&mutex);
	return count;
}

static bool
is_ours(const char *node)
{
	static const char suffix[] = ".test";
	size_t len = node ? strlen(node) : 0;
	return len > sizeof suffix &&
	    !strcmp(node + len - (sizeof suffix - 1), suffix);
}

/* One block for each entry, as our freeaddrinfo() expects. */
static struct addrinfo *
entry_new(const char *address, uint16_t port)
{
	struct {
		struct addrinfo info;
		union {
			struct sockaddr any;
			struct sockaddr_in v4;
			struct sockaddr_in6 v6;
		} at;
	} *e = mem_zero(sizeof *e);
	bool v6 = strchr(address, ':') != NULL;
	if (v6) {
		e->at.v6.sin6_family = AF_INET6;
		e->at.v6.sin6_port = htons(port);
	} else {
		e->at.v4.sin_family = AF_INET;
		e->at.v4.sin_port = htons(port);
	}
	must(inet_pton(v6 ? AF_INET6 : AF_INET, address,
		 v6 ? (void *)&e->at.v6.sin6_addr
		    : (void *)&e->at.v4.sin_addr) == 1);
	e->info.ai_family = v6 ? AF_INET6 : AF_INET;
	e->info.ai_socktype = SOCK_STREAM;
	e->info.ai_protocol = IPPROTO_TCP;
	e->info.ai_addr = &e->at.any;
	e->info.ai_addrlen = v6 ? sizeof e->at.v6 : sizeof e->at.v4;
	return &e->info;
}

int
getaddrinfo(const char *node, const char *service,
    const struct addrinfo *hints, struct addrinfo **ret_list)
{
	if (!is_ours(node)) {
		int (*real)(const char *, const char *,
		    const struct addrinfo *, struct addrinfo **);
		*(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
		return real(node, service, hints, ret_list);
	}
	struct addrinfo **end = ret_list;
	*ret_list = NULL;
	pthread_mutex_lock(&mutex);
	while (hanging)
		pthread_cond_wait(&changed, &mutex);
	resolved++;
	for (unsigned i = 0; i < ADDRESSES_MAX && addresses[i]; i++) {
		*end = entry_new(addresses[i],
		    (uint16_t)strtoul(service ? service : "0", NULL, 10));
		end = &(*end)->ai_next;
	}
	pthread_mutex_unlock(&mutex);
	return *ret_list ? 0 : EAI_NONAME;
}

void
freeaddrinfo(struct addrinfo *list)
{
	/* The C library's own lists can be freed entry by entry too. */
	while (list != NULL) {
		struct addrinfo *next = list->ai_next;
		free(list->ai_canonname);
		free(list);
		list = next;
	}
}

/* --- the clock --- */

void
stage_pass(int64_t ms)
{
	atomic_fetch_add(&passed_ms, ms);
}

int
clock_gettime(clockid_t id, struct timespec *ret_time)
{
	int result = (int)syscall(SYS_clock_gettime, id, ret_time);
	int64_t ms = atomic_load(&passed_ms);
	if (result != 0 || ms == 0 ||
	    (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE &&
		id != CLOCK_MONOTONIC_RAW))
		return result;
	ret_time->tv_sec += ms / 1000;
	ret_time->tv_nsec += ms % 1000 * 1000000;
	if (ret_time->tv_nsec >= 1000000000) {
		ret_time->tv_nsec -= 1000000000;
		ret_time->tv_sec++;
	}
	return 0;
}

/* libcurl's DNS cache goes by it. */
time_t
time(time_t *ret_time)
{
	struct timespec ts;
	must(syscall(SYS_clock_gettime, CLOCK_REALTIME, &ts) == 0);
	ts.tv_sec += atomic_load(&passed_ms) / 1000;
	if (ret_time != NULL)
		*ret_time = ts.tv_sec;
	return ts.tv_sec;
}

/* --- connect --- */

static void (*after_connect)(void *arg);
static void *after_connect_arg;

void
stage_after_connect(void (*call)(void *arg), void *arg)
{
	after_connect = call;
	after_connect_arg = arg;
}

int
connect(int fd, const struct sockaddr *address, socklen_t len)
{
	int result = (int)syscall(SYS_connect, fd, address, len);
	int error = errno;
	if (after_connect != NULL)
		after_connect(after_connect_arg);
	errno = error;
	return result;
}
