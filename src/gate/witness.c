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
witness_new(struct worker *worker)
{
	struct witnesses *witnesses = mem_zero(sizeof *witnesses);
	witnesses->worker = worker;
	return witnesses;
}

void
witness_free(struct witnesses **witnesses)
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

void
witness_saw(struct witnesses *witnesses, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt, int64_t claim_ms)
{
	(void)witnesses;
	(void)route;
	(void)key_id;
	(void)attempt;
	(void)claim_ms;
}

void
witness_saw_late(struct witnesses *witnesses, const struct conf_route *route,
    const struct key_id *key_id, uint32_t attempt)
{
	(void)witnesses;
	(void)route;
	(void)key_id;
	(void)attempt;
}
