/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "messages/broker/relay_target.h"
#include "messages/relay/relay_stream.h"
#include "store/records.h"

/*
 * A batch as its relay makes it: those entries that the relay wants become
 * events, as JSON, and completions get the answers that belong to them.  It
 * knows no target.  The store's thread.
 */
struct relay_bundle {
	struct relay_batch batch; /* as a target gets it */
	struct store *store;
	struct loop *loop;
	const struct conf *conf; /* relay is of it */
	const struct conf_relay *relay;
	size_t entries;     /* that it has, also those that are not wanted */
	bool moves;         /* it has places */
	size_t events_size; /* there is room for so many */
	/* Events whose answers are wanted. */
	struct relay_wanted {
		struct relay_bundle *bundle;
		size_t event;
		int64_t attempt;
		json_t *message; /* as the event has it already */
		struct records_op look;
		struct timer again;
	} *wanted;
	size_t n_wanted, wanted_size;
	size_t missing; /* so many of them were not looked for yet */
	void (*complete)(void *arg);
	void *arg;
};

struct relay_bundle *relay_batch_new(struct store *store,
    const struct conf *conf, struct loop *loop,
    const struct conf_relay *relay);
/* What is on its way is given up; nulls the pointer, accepts NULL. */
void relay_batch_free(struct relay_bundle **bundle);
/* Adds an entry; of one that the relay does not want, only where it stands. */
void relay_batch_add(
    struct relay_bundle *bundle, const struct relay_entry *entry);
/*
 * Nothing more is added.  complete is called when it has all answers that are
 * still kept; it asks until Redis has said which.
 */
void relay_batch_complete(
    struct relay_bundle *bundle, void (*complete)(void *arg), void *arg);
