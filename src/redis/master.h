/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "loop/loop.h"
#include "redis/link.h"
#include "redis/sentinel.h"

/*
 * Where the master is that Redis Sentinels watch over, as the process knows
 * it: told by who asks them (sentinels.h), heard by links that follow it, each
 * on the loop of its owner.  It knows neither Sentinels nor what is done on
 * the links.  Any thread; followers as said below.
 */
struct master;

struct master *master_new(void);
/* Nobody follows it any more; nulls the pointer, accepts NULL. */
void master_free(struct master **master);
/* It is there from now on: links that went elsewhere are reset. */
void master_set(struct master *master, const char *host, uint16_t port);

/* "HOST:PORT", which the caller frees; NULL: none is known yet. */
char *master_text(struct master *master);

/*
 * What leads one link to the master: a member of the link's owner, whose
 * thread alone calls what follows.
 */
struct master_follower {
	struct master *master;
	struct master_follower *next;
	struct master_follower **place; /* what points to it */
	int moved; /* eventfd, written where the master is set */
	struct watch *watch;
	struct link *link; /* NULL: it has not asked yet */
	bool asked;        /* and it waits for an answer */
	unsigned went;     /* to the master of that number */
};

void master_follower_init(
    struct master_follower *follower, struct master *master, struct loop *loop);
/* The link's find: answered at once, or as soon as it is known. */
void master_follower_find(struct master_follower *follower, struct link *link);
/* Before the link is freed; of one that was never made too. */
void master_follower_end(struct master_follower *follower);
