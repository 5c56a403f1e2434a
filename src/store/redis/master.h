/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/loop.h"
#include "store/redis/sentinel_protocol.h"

/*
 * The address of the master that Redis Sentinels watch over, or of the one in a
 * cluster that has a stream: whoever finds it out (sentinel_monitor.h) sets it,
 * and links follow it (link.h), each on its owner's loop.  It knows neither
 * Sentinels nor links.  Any thread; a follower is its owner's, as said below.
 */
struct master;

/* Knows no address yet. */
struct master *master_new(void);
/* No follower may be left; nulls the pointer, accepts NULL. */
void master_free(struct master **master);
/*
 * The master is there from now on: who follows it goes there when it has lost
 * its connection, or is told.
 */
void master_set(struct master *master, const char *host, uint16_t port);
/* Those who follow it and are elsewhere go there at once. */
void master_tell(struct master *master);

/*
 * "HOST:PORT", brackets around an IPv6 address, which the caller frees; NULL:
 * none is known yet.
 */
char *master_text(struct master *master);

/*
 * The number of the master that was set last, from 1, and where it is; 0: none
 * is known yet.
 */
unsigned master_where(struct master *master,
    char ret_host[SENTINEL_HOST_BYTES], uint16_t *ret_port);

/*
 * A member of whoever follows the master, whose thread alone calls the
 * functions below; they set all its fields.
 */
struct master_follower {
	struct master *master; /* NULL: it follows none */
	struct list of_master; /* among its followers */
	int told; /* eventfd */
	struct watch *watch;
	void (*moved)(void *arg);
	void *arg;
};

/*
 * From now on moved is called where it is told; follower is all zeros before,
 * and master and loop outlive it.
 */
void master_follow(struct master *master, struct master_follower *follower,
    struct loop *loop, void (*moved)(void *arg), void *arg);
/* Does nothing where it follows none. */
void master_unfollow(struct master_follower *follower);
