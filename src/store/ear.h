/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/link.h"
#include "store/master.h"
#include "store/store.h"

/*
 * The ear of a store: a connection that only listens to the channels on which
 * changes of records are told.  Such a connection can be dead without a sign,
 * so the ear proves itself once a second: the store's own link publishes a
 * word that the ear must hear.  A part of struct store, for the files of
 * src/store/ alone.
 */
struct ear {
	struct store *store;
	struct link *link; /* NULL: nobody listens */
	struct follower follower; /* of Sentinels' master, where they know it */
	struct store_listener listener;
	bool hears;
	struct timer timer;
	char word[2 * 16 + 2];    /* "@" and hex digits, its own */
	struct link_call publish; /* of the word */
	bool publishing;
	int64_t proven_us; /* clock_us() when the word was heard last */
};

void ear_init(struct ear *ear, struct store *store);
/* Begins to listen. */
void ear_open(struct ear *ear, const struct link_to *to);
/* The store's link is lost: so is the ear's, though it may not show. */
void ear_link_down(struct ear *ear);
void ear_end(struct ear *ear);
