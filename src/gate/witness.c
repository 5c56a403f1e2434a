/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "gate/witness.h"
#include "gate/worker_state.h"

struct witnesses {
	struct worker *worker;
};

struct witnesses *
witnesses_new(struct worker *worker)
{
	struct witnesses *witnesses = mem_zero(sizeof *witnesses);
	witnesses->worker = worker;
	return witnesses;
}

void
witnesses_free(struct witnesses **witnesses)
{
	free(*witnesses);
	*witnesses = NULL;
}

void
witness_start(struct witnesses *witnesses, struct witness_op *op)
{
	(void)witnesses;
	op_start(&op->op, 0, NULL);
	op->answer = WITNESS_UNKNOWN;
	op->distrusted = true;
	snprintf(op->words, sizeof op->words, "nobody can be asked yet");
	op_done(&op->op, 0);
}

void
witness_clear(struct witness_op *op)
{
	arena_free(&op->arena);
	body_clear(&op->body);
	op->fields = (struct fields){NULL, 0};
	op->words[0] = '\0';
}
