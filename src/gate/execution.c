/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/test_build.h"
#include "gate/execution_private.h"

void
execution_leave(struct execution *e)
{
	e->claimant = NULL;
}

void
execution_log(const struct execution *e, struct logline *line)
{
	log_str(line, "key_id", e->machine.id);
	log_str(line, "route", e->route->name);
	log_span(line, "request_id", e->request_id);
	if (!span_eq(e->first_id, e->request_id))
		log_span(line, "first_request_id", e->first_id);
	if (e->label.len > 0)
		log_span(line, "label", e->label);
	log_int(line, "attempt", e->held.attempt);
}

bool
execution_is_completing(const struct execution *e)
{
	return op_pending(&e->store.op) &&
	    e->machine.step == EXECUTION_COMPLETED;
}

void
execution_cut(struct execution *e)
{
	if (!op_pending(&e->forward.op))
		return;
	op_cancel(&e->forward.op);
	e->sent = forward_sent_bytes(&e->forward) > 0;
	e->reason = REASON_DRAIN;
	/* A question leaves in doubt what was in doubt. */
	bool doubt = (e->sent && INVARIANT(cut_is_unknown)) || e->asked;
	machine_to(
	    &e->machine, doubt ? EXECUTION_MARK_UNKNOWN : EXECUTION_RELEASE);
	machine_run(&e->machine);
}
