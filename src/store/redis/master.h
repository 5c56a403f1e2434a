/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/list.h"
#include "base/loop/loop.h"
#include "store/redis/link.h"
#include "store/redis/sentinel_protocol.h"

/*
 * The address of the master that Redis Sentinels watch over: the thread that
 * asks them (sentinel_monitor.h) sets it, and links follow it, each on its
 * owner's loop.  It knows neither Sentinels nor what is sent on the links.  Any
 * thread; a follower is its owner's, as said below.
 */
struct master;

/* Knows no address yet. */
struct master *master_new(void);
/* No follower may be left; nulls the pointer, accepts NULL. */
void master_free(struct master **master);
/* The master is there from now on: links that lead elsewhere are moved. */
void master_set(struct master *master, const char *host, uint16_t port);

/*
 * "HOST:PORT", brackets around an IPv6 address, which the caller frees; NULL:
 * none is known yet.
 */
char *master_text(struct master *master);

/*
 * Leads one link to the master.  It is a member of the link's owner, whose
 * thread alone calls the functions below; they set all its fields.
 */
struct master_follower {
	struct master *master;
	struct list of_master; /* among its followers */
	int moved; /* eventfd, written each time the master is set */
	struct watch *watch;
	struct link *link; /* NULL: it has never asked */
	bool asked;        /* the link waits for link_found */
	unsigned went;     /* the number of the master it was sent to */
};

/* follower is all zeros before; master and loop outlive it. */
void master_follower_init(
    struct master_follower *follower, struct master *master, struct loop *loop);
/*
 * To be called by the link's find: answered (link_found) at once, or as soon as
 * a master is known.
 */
void master_follower_find(struct master_follower *follower, struct link *link);
/*
 * Call it before the link is freed; does nothing where init was never called.
 */
void master_follower_end(struct master_follower *follower);
