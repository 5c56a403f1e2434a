/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/loop/loop.h"

/*
 * An operation is something that its owner waits for.  It is a member of the
 * owner, is started by one module (the provider) with a deadline, and ends
 * exactly once with a code.  Its end puts it on the ready list; the owner's
 * wake is called from there, and never from within the provider.  An owner may
 * see that it is done before, and cancels its task then.  One thread.
 */
enum op_state {
	OP_IDLE,    /* not started, or given up */
	OP_PENDING, /* the provider works on it */
	OP_DONE,    /* ended: error says how; wake will be or was called */
};

#define OP_UNTIMED INT64_MIN

struct op {
	enum op_state state;
	int error; /* of tbl/errors.h; 0 is success */
	/*
	 * Set by the provider, or NULL: lets go of a pending operation, because
	 * its time is up (E_TIMEOUT) or its owner gave it up (E_CANCELLED).  In
	 * the first case it may end it, where it knows more than that.
	 */
	void (*detach)(struct op *op, int error);
	/*
	 * Set by the provider after the start, or NULL: asked when the time is
	 * up; how many ms more a pending operation may take, or 0.
	 */
	int64_t (*more_ms)(struct op *op);
	struct loop *loop;
	struct timer deadline;
	struct task task; /* wakes the owner */
	int64_t began_us; /* 0: untimed */
	int64_t took_us;  /* from start to end; of an untimed one 0 */
};

/* For the owner, once: says whom to wake. */
void op_init(
    struct op *op, struct loop *loop, void (*wake)(void *owner), void *owner);
/*
 * For the provider: the operation is pending from now on; after timeout_ms (0:
 * no deadline; OP_UNTIMED: nor does anybody ask how long it takes) it is
 * detached, and ends with E_TIMEOUT.  detach is NULL where nothing has to let
 * go of it.
 */
void op_start(struct op *op, int64_t timeout_ms,
    void (*detach)(struct op *op, int error));
/* For the provider: ends a pending operation. */
void op_done(struct op *op, int error);
/*
 * For the owner: gives up.  A pending operation is detached (E_CANCELLED);
 * after one that is done, wake is not called any more.  Idle afterwards; always
 * allowed.
 */
void op_cancel(struct op *op);
