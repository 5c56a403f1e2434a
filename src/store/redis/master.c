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
	struct master_follower *follower;
	pthread_mutex_lock(&master->mutex);
	snprintf(master->host, sizeof master->host, "%s", host);
	master->port = port;
	master->number++;
	LIST_EACH(follower, &master->followers, of_master)
		eventfd_write(follower->moved, 1);
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

static void
lead_link(struct master_follower *follower)
{
	struct master *master = follower->master;
	char host[SENTINEL_HOST_BYTES];
	pthread_mutex_lock(&master->mutex);
	unsigned number = master->number;
	uint16_t port = master->port;
	memcpy(host, master->host, sizeof host);
	pthread_mutex_unlock(&master->mutex);
	if (number == 0 || follower->link == NULL)
		return;
	if (follower->asked) {
		follower->asked = false;
		follower->went = number;
		link_found(follower->link, host, port);
	} else if (follower->went != number) {
		link_move(follower->link);
	}
}

static void
on_moved(void *arg, unsigned events)
{
	struct master_follower *follower = arg;
	eventfd_t times;
	(void)events;
	eventfd_read(follower->moved, &times);
	lead_link(follower);
}

void
master_follower_init(
    struct master_follower *follower, struct master *master, struct loop *loop)
{
	follower->master = master;
	follower->moved = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(follower->moved >= 0);
	follower->watch = watch_new(loop, follower->moved, on_moved, follower);
	watch_want(follower->watch, WATCH_READ);
	pthread_mutex_lock(&master->mutex);
	list_add_last(&master->followers, &follower->of_master);
	pthread_mutex_unlock(&master->mutex);
}

void
master_follower_find(struct master_follower *follower, struct link *link)
{
	follower->link = link;
	follower->asked = true;
	lead_link(follower);
}

void
master_follower_end(struct master_follower *follower)
{
	struct master *master = follower->master;
	if (master == NULL)
		return;
	pthread_mutex_lock(&master->mutex);
	list_remove(&follower->of_master);
	pthread_mutex_unlock(&master->mutex);
	watch_free(&follower->watch);
	close(follower->moved);
	*follower = (struct master_follower){0};
}
