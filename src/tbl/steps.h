/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of the two machines, in life order.  An imperative starts
 * something; a participle has its result and decides.
 *
 * REQUEST_STEP(name, function, operation) and EXECUTION_STEP(...): operation is
 * the only one that can wake the machine into that step (r or e is the
 * machine); NULL: the step follows at once.
 */
#ifndef REQUEST_STEP
#define REQUEST_STEP(name, function, operation)
#endif
#ifndef EXECUTION_STEP
#define EXECUTION_STEP(name, function, operation)
#endif

REQUEST_STEP(CHECK, request_client_check, NULL)
REQUEST_STEP(ROUTE, request_client_route, NULL)
REQUEST_STEP(KEY, request_client_key, NULL)
REQUEST_STEP(BODY, request_client_body, NULL)
REQUEST_STEP(RECEIVED, request_client_received, &r->x->op)
REQUEST_STEP(DERIVE, request_claim_derive, NULL)
REQUEST_STEP(CLAIM, request_claim, NULL)
REQUEST_STEP(CLAIMED, request_claim_answered, &r->c.claim_op.op)
REQUEST_STEP(WAITED, request_claim_waited, &r->waiter.op)
REQUEST_STEP(START, request_claim_start, NULL)
REQUEST_STEP(JOINED, request_claim_joined, &r->c.join)
REQUEST_STEP(PASS, request_pass, NULL)
REQUEST_STEP(PASSED, request_pass_answered, &r->forward.op)
REQUEST_STEP(ANSWER, request_client_answer, NULL)
REQUEST_STEP(ANSWERED, request_client_answered, &r->x->op)
REQUEST_STEP(FINISH, request_client_finish, NULL)

EXECUTION_STEP(ASK, execution_upstream_ask, NULL)
EXECUTION_STEP(ASKED, execution_upstream_asked, &e->forward.op)
EXECUTION_STEP(RECLAIM, execution_upstream_reclaim, NULL)
EXECUTION_STEP(RECLAIMED, execution_upstream_reclaimed, &e->store.op)
EXECUTION_STEP(FORWARD, execution_upstream_forward, NULL)
EXECUTION_STEP(FORWARDED, execution_upstream_forwarded, &e->forward.op)
EXECUTION_STEP(COMPLETE, execution_store_complete, NULL)
EXECUTION_STEP(COMPLETED, execution_store_completed, &e->store.op)
EXECUTION_STEP(RELEASE, execution_store_release, NULL)
EXECUTION_STEP(RELEASED, execution_store_released, &e->store.op)
EXECUTION_STEP(MARK_UNKNOWN, execution_store_mark_unknown, NULL)
EXECUTION_STEP(MARKED_UNKNOWN, execution_store_marked_unknown, &e->store.op)
EXECUTION_STEP(JOURNAL, execution_store_journal, NULL)
EXECUTION_STEP(JOURNALED, execution_store_journaled, &e->journal.op)
EXECUTION_STEP(PAUSE, execution_store_pause, NULL)
EXECUTION_STEP(PAUSED, execution_store_paused, &e->pause)
EXECUTION_STEP(FINISH, execution_store_finish, NULL)

#undef REQUEST_STEP
#undef EXECUTION_STEP
