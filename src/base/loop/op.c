/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>

#include "base/error.h"
#include "base/loop/op.h"
#include "base/must.h"

static void
op_expired(void *arg)
{
	struct op *op = arg;
	must(op->state == OP_PENDING);
	int64_t more_ms = op->more_ms != NULL ? op->more_ms(op) : 0;
	if (more_ms > 0) {
		timer_set(&op->deadline, more_ms);
		return;
	}
	if (op->detach != NULL)
		op->detach(op, E_TIMEOUT);
	if (op->state == OP_PENDING)
		op_done(op, E_TIMEOUT);
}

void
op_init(
    struct op *op, struct loop *loop, void (*wake)(void *owner), void *owner)
{
	*op = (struct op){.loop = loop};
	op->task = (struct task){.run = wake, .arg = owner};
	timer_init(&op->deadline, loop, op_expired, op);
}

void
op_start(struct op *op, int64_t timeout_ms,
    void (*detach)(struct op *op, int error))
{
	must(op->state != OP_PENDING);
	must(op->loop != NULL);
	task_cancel(&op->task);
	op->state = OP_PENDING;
	op->error = 0;
	op->detach = detach;
	op->more_ms = NULL;
	op->began_us = timeout_ms == OP_UNTIMED ? 0 : clock_us();
	if (timeout_ms > 0)
		timer_set_at(&op->deadline, op->began_us / 1000 + timeout_ms);
}

void
op_done(struct op *op, int error)
{
	must(op->state == OP_PENDING);
	op->state = OP_DONE;
	op->error = error;
	op->took_us = op->began_us > 0 ? clock_us() - op->began_us : 0;
	timer_clear(&op->deadline);
	task_ready(op->loop, &op->task);
}

void
op_cancel(struct op *op)
{
	if (op->state == OP_PENDING && op->detach != NULL)
		op->detach(op, E_CANCELLED);
	timer_clear(&op->deadline);
	task_cancel(&op->task);
	op->state = OP_IDLE;
}
