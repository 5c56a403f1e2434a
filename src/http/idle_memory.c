/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "http/client_connection_private.h"
#include "http/front_private.h"
#include "http/idle_memory_private.h"

enum {
	LOOK_MS = 1000,
	/* So many looks in a row must find that nothing has happened. */
	QUIET_LOOKS = 3,
	PAGE_BYTES = 4096,
	/* Of a connection, where the pointer to its pool is looked for. */
	WORDS = 16,
	/* What fewer of them leave behind is not worth the time. */
	TRIM_FROM = 256,
};

/* --- where the pool is --- */

/* What struct MHD_Connection points to; read, never written. */
struct mhd_pool {
	char *memory;
	size_t size;
	size_t pos;
	size_t end;
	unsigned char is_mmap; /* a bool */
};

/* Eight bytes there can be read: the kernel looks before it says no. */
static bool
is_readable(uintptr_t address)
{
	return syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) == -1 &&
	    errno == EINVAL;
}

/* The pool that has the line, where this word is a pointer to it. */
static const struct mhd_pool *
pool_at(const uintptr_t *word, const char *line)
{
	if (*word % sizeof(size_t) != 0 || !is_readable(*word) ||
	    !is_readable(*word + offsetof(struct mhd_pool, is_mmap)))
		return NULL;
	const struct mhd_pool *pool = (const void *)*word;
	uintptr_t memory = (uintptr_t)pool->memory;
	if (pool->size != FRONT_POOL_BYTES || pool->pos > pool->end ||
	    pool->end > pool->size || pool->is_mmap > 1 ||
	    (uintptr_t)line < memory ||
	    (uintptr_t)line >= memory + pool->size)
		return NULL;
	return pool;
}

/*
 * It is one of the first words of libmicrohttpd's connection.  Nothing but a
 * pool of the very size, with the request's line in it, is taken for one.
 */
void
idle_memory_learn(struct client_connection *c, const char *method)
{
	const uintptr_t *message = (const void *)c->mhd;
	if (c->pool != NULL || !c->front->knows_layout ||
	    sysconf(_SC_PAGESIZE) != PAGE_BYTES)
		return;
	for (size_t i = 4; i < WORDS && c->pool == NULL; i++) {
		const struct mhd_pool *pool = pool_at(message + i, method);
		if (pool != NULL)
			c->pool = pool->memory;
	}
}

void
idle_memory_not(struct client_connection *c)
{
	c->quiet_looks = 0;
}

/* --- giving back --- */

static bool
is_zero(const char *page)
{
	return page[0] == 0 && memcmp(page, page + 1, PAGE_BYTES - 1) == 0;
}

/* The pages that are wholly its own. */
static void
give_back(const struct client_connection *c)
{
	if (c->pool == NULL)
		return;
	size_t before = -(uintptr_t)c->pool % PAGE_BYTES;
	char *page = c->pool + before;
	const char *end = c->pool + FRONT_POOL_BYTES;
	for (; end - page >= PAGE_BYTES; page += PAGE_BYTES)
		/* It only saves memory; where it cannot, nothing is lost. */
		if (is_zero(page))
			(void)madvise(page, PAGE_BYTES, MADV_DONTNEED);
}

/*
 * malloc() keeps what they leave behind, since it lies between what is still in
 * use, for the next crowd, which may never come.
 */
static void
give_back_of_gone(struct front *front)
{
	if (front->most_clients < TRIM_FROM ||
	    front->clients > front->most_clients / 2)
		return;
	front->most_clients = front->clients;
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

static void
on_idle_look(void *arg)
{
	struct front *front = arg;
	for (struct client_connection *c = front->all; c != NULL;
	     c = c->next_of_all)
		if (c->quiet_looks <= QUIET_LOOKS &&
		    ++c->quiet_looks == QUIET_LOOKS)
			give_back(c);
	give_back_of_gone(front);
	timer_set(&front->look, LOOK_MS);
}

void
idle_memory_watch(struct front *front)
{
	timer_init(&front->look, front->loop, on_idle_look, front);
	timer_set(&front->look, LOOK_MS);
}

void
idle_memory_unwatch(struct front *front)
{
	timer_clear(&front->look);
}

void
idle_memory_begin(struct client_connection *c)
{
	c->next_of_all = c->front->all;
	c->link_of_all = &c->front->all;
	if (c->next_of_all != NULL)
		c->next_of_all->link_of_all = &c->next_of_all;
	c->front->all = c;
	if (++c->front->clients > c->front->most_clients)
		c->front->most_clients = c->front->clients;
}

void
idle_memory_end(struct client_connection *c)
{
	*c->link_of_all = c->next_of_all;
	if (c->next_of_all != NULL)
		c->next_of_all->link_of_all = c->link_of_all;
	c->front->clients--;
}
