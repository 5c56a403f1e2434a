/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "base/loop/loop.h"

/*
 * A flow is content on its way from a writer to a reader that do not know each
 * other: a few bytes that the writer has put and the reader has not yet taken,
 * counted against the budget of bodies.  A writer that finds no room, and a
 * reader that finds no bytes, wait: each is called when the other has changed
 * that, from the ready list and never from within.  So neither outruns the
 * other, and content may be larger than memory.  It knows nothing of HTTP.  One
 * thread; whoever has it as a member clears it.
 *
 * It is all zeros at first but for its loop and its body's budget, which
 * outlive it.  Whoever must not begin without its first memory reserves
 * FLOW_LEAST_BYTES of the body.
 */
enum {
	/* A flow that holds as much as this has no room. */
	FLOW_BYTES = 65536,
	/* It begins with this much memory, and gets more once that is full. */
	FLOW_LEAST_BYTES = 16384,
};

struct flow {
	struct loop *loop;
	struct body body;
	size_t at;  /* how much of body was taken */
	bool ended; /* by the writer */
	int error;  /* then: why the content is not whole; 0: it is */
	bool closed; /* by the reader, which takes no more */
	bool reader_waits;
	bool writer_waits;
	struct task reader;
	struct task writer;
};

/* Frees the memory; no side is called any more. */
void flow_clear(struct flow *flow);

/*
 * Sets what is called for a side of a flow: its writer when there is room, or
 * the reader waits or has closed; its reader when there are bytes again, or the
 * end.  NULL: nothing any more.
 */
void flow_by(struct task *side, void (*run)(void *arg), void *arg);

/* --- the writer's side --- */

/* Bytes that can be put now; 0: the writer is called when that has changed. */
size_t flow_room(struct flow *flow);
/*
 * Puts bytes, even more than there is room for, as far as the budget allows;
 * returns how many were taken.  A closed flow takes and forgets them all.
 */
MUST_USE size_t flow_put(struct flow *flow, const char *bytes, size_t len);
/*
 * True: the reader waits for bytes; false: the writer is called when it does.
 */
bool flow_is_wanted(struct flow *flow);
/*
 * Nothing more will come: error is 0, or why the content is not whole.  Once.
 */
void flow_end(struct flow *flow, int error);

/* --- the reader's side --- */

/*
 * The bytes that it holds, valid until any other call.  None: the end, if ended
 * is set; otherwise the reader is called when that has changed.
 */
struct span flow_look(struct flow *flow);
/* Takes len bytes from the front of what it holds. */
void flow_take(struct flow *flow, size_t len);
/* The reader wants no more. */
void flow_close(struct flow *flow);
