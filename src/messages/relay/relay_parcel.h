/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/relay/relay_stream.h"
#include "store/records.h"

/*
 * A parcel is a batch (relay.h) on its way: it is filled with the events that a
 * relay wants, fetches the answers that belong to them, and is put.  It knows
 * no target.  A member of a list of its owner's; the store's thread.
 */
enum { RELAY_PARCEL_FETCHES = 16 };

struct relay_parcel {
	struct relay_batch batch; /* first */
	struct relay_parcel *next; /* the owner's */
	bool done;                 /* the owner's */
	void *owner;
	const struct conf *conf; /* relay is of it */
	const struct conf_relay *relay;
	struct store *store;
	size_t size_events, size_marks;
	size_t entries; /* that it has, also those that are not wanted */
	/* Of each event, once nothing more is added; NULL: before. */
	enum relay_wish { WISH_NONE, WISH_ANSWER, WISH_ASKED } *wishes;
	size_t n_wishes; /* that are not fulfilled */
	struct relay_fetch {
		struct relay_parcel *parcel;
		struct relay_event *event; /* NULL: it is free */
		struct records_op look;
	} fetches[RELAY_PARCEL_FETCHES];
	struct timer again; /* what failed is asked for anew */
	void (*complete)(struct relay_parcel *parcel);
};

struct relay_parcel *relay_parcel_new(struct store *store,
    const struct conf *conf, struct loop *loop,
    const struct conf_relay *relay);
/* What is on its way is given up; nulls the pointer, accepts NULL. */
void relay_parcel_free(struct relay_parcel **parcel);

/* Adds an entry; of one that the relay does not want, only where it stands. */
void relay_parcel_add(
    struct relay_parcel *parcel, const struct relay_entry *entry);
/* Where a shard stands, without an entry. */
void relay_parcel_stand(
    struct relay_parcel *parcel, const struct relay_mark *mark);
/*
 * Nothing more is added.  complete is called when it has all answers that are
 * still kept, never from within this; it asks until Redis has said which.
 */
void relay_parcel_fetch(struct relay_parcel *parcel,
    void (*complete)(struct relay_parcel *parcel));
