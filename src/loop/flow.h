/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "loop/loop.h"

/*
 * A flow is content on its way from a writer to a reader that do not know
 * each other: a few bytes that the writer has put and the reader has not
 * taken yet, counted against the budget of bodies.  A writer that finds no
 * room, and a reader that finds nothing, wait: each is called when the other
 * has changed that, from the ready list and never from within.  So the one
 * is as fast as the other, and no content is larger than the memory for it.
 * It knows nothing of HTTP.  One thread; whose member it is clears it.
 */
enum {
	/* With so much in it, a flow has no room. */
	FLOW_BYTES = 65536,
	/* It begins with so much memory, and has more when that was filled. */
	FLOW_LEAST_BYTES = 16384,
};

struct flow {
	struct loop *loop;
	struct body body;
	size_t at;  /* so much of body was taken */
	bool ended; /* by the writer */
	int error;  /* then: 0, the content is whole, or why it is not */
	bool closed; /* by the reader, who takes no more */
	bool reader_waits;
	bool writer_waits;
	struct task reader;
	struct task writer;
};

/* An empty flow; loop and budget outlive it. */
void flow_init(struct flow *flow, struct loop *loop, struct budget *budget);
/* Memory that it is sure to have from now on; E_NO_MEMORY. */
MUST_USE int flow_reserve(struct flow *flow);
/* Frees the memory; nobody is called any more. */
void flow_clear(struct flow *flow);

/* --- the writer's side --- */

/* Who is called when there is room, or the reader waits or has closed. */
void flow_write_by(struct flow *flow, void (*run)(void *arg), void *arg);
/* Bytes that can be put now; 0: the writer is called. */
size_t flow_room(struct flow *flow);
/*
 * Puts bytes, beyond the room too, as far as the budget allows; returns how
 * many that were.  A closed flow takes all, and forgets them.
 */
MUST_USE size_t flow_put(struct flow *flow, const char *bytes, size_t len);
/* True while the reader waits for bytes; false: the writer is called then. */
bool flow_is_wanted(struct flow *flow);
/* No more comes: error is 0, or why the content is not whole.  Once. */
void flow_end(struct flow *flow, int error);

/* --- the reader's side --- */

/* Who is called when there are bytes again, or the end. */
void flow_read_by(struct flow *flow, void (*run)(void *arg), void *arg);
/*
 * The bytes that are there, valid until anything else is called.  None: the
 * end, where ended is set, or the reader is called when that has changed.
 */
struct span flow_look(struct flow *flow);
/* Takes bytes from the front of those. */
void flow_take(struct flow *flow, size_t len);
/* The reader wants no more. */
void flow_close(struct flow *flow);
