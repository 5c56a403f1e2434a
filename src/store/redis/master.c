/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/must.h"
#include "store/redis/master.h"

struct master {
	pthread_mutex_t mutex; /* of all fields below, and of the list */
	char host[SENTINEL_HOST_BYTES];
	uint16_t port;
	unsigned number; /* 0: none is known yet */
	struct list followers;
};

struct master *
master_new(void)
{
	struct master *master = mem_zero(sizeof *master);
	must(pthread_mutex_init(&master->mutex, NULL) == 0);
	list_init(&master->followers);
	return master;
}

void
master_free(struct master **master)
{
	struct master *m = *master;
	*master = NULL;
	if (m == NULL)
		return;
	must(list_empty(&m->followers));
	pthread_mutex_destroy(&m->mutex);
	free(m);
}

void
master_set(struct master *master, const char *host, uint16_t port)
{
	pthread_mutex_lock(&master->mutex);
	snprintf(master->host, sizeof master->host, "%s", host);
	master->port = port;
	master->number++;
	pthread_mutex_unlock(&master->mutex);
}

void
master_tell(struct master *master)
{
	struct master_follower *follower;
	pthread_mutex_lock(&master->mutex);
	LIST_EACH(follower, &master->followers, of_master)
		eventfd_write(follower->told, 1);
	pthread_mutex_unlock(&master->mutex);
}

char *
master_text(struct master *master)
{
	char *text = NULL;
	pthread_mutex_lock(&master->mutex);
	if (master->number != 0)
		text = mem_printf(
		    strchr(master->host, ':') != NULL ? "[%s]:%u" : "%s:%u",
		    master->host, master->port);
	pthread_mutex_unlock(&master->mutex);
	return text;
}

unsigned
master_where(struct master *master, char ret_host[SENTINEL_HOST_BYTES],
    uint16_t *ret_port)
{
	pthread_mutex_lock(&master->mutex);
	unsigned number = master->number;
	memcpy(ret_host, master->host, sizeof master->host);
	*ret_port = master->port;
	pthread_mutex_unlock(&master->mutex);
	return number;
}

static void
on_told(void *arg, unsigned events)
{
	struct master_follower *follower = arg;
	eventfd_t times;
	(void)events;
	eventfd_read(follower->told, &times);
	follower->moved(follower->arg);
}

void
master_follow(struct master *master, struct master_follower *follower,
    struct loop *loop, void (*moved)(void *arg), void *arg)
{
	follower->master = master;
	follower->moved = moved;
	follower->arg = arg;
	follower->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(follower->told >= 0);
	follower->watch =
	    watch_new(loop, follower->told, WATCH_READ, on_told, follower);
	pthread_mutex_lock(&master->mutex);
	list_add_last(&master->followers, &follower->of_master);
	pthread_mutex_unlock(&master->mutex);
}

void
master_unfollow(struct master_follower *follower)
{
	struct master *master = follower->master;
	if (master == NULL)
		return;
	pthread_mutex_lock(&master->mutex);
	list_remove(&follower->of_master);
	pthread_mutex_unlock(&master->mutex);
	watch_free(&follower->watch);
	close(follower->told);
	*follower = (struct master_follower){0};
}
