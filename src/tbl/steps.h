/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The steps of the machines, in life order.  An imperative starts something; a
 * participle has its result and decides.
 *
 * REQUEST_STEP(name, function, operation), EXECUTION_STEP(...) and
 * DELIVERY_STEP(...), of which BEGIN and what follows is of letters alone:
 * operation is the only one that can wake the machine into that step (r, e or d
 * is the machine); NULL: the step follows at once.
 */
#ifndef REQUEST_STEP
#define REQUEST_STEP(name, function, operation)
#endif
#ifndef EXECUTION_STEP
#define EXECUTION_STEP(name, function, operation)
#endif
#ifndef DELIVERY_STEP
#define DELIVERY_STEP(name, function, operation)
#endif

REQUEST_STEP(CHECK, request_check, NULL)
REQUEST_STEP(ROUTE, request_route, NULL)
REQUEST_STEP(FIND, request_find, NULL)
REQUEST_STEP(LOOK_UP, request_look_up, NULL)
REQUEST_STEP(LOOKED_UP, request_looked_up, &r->lookup->op.op)
REQUEST_STEP(KEY, request_key, NULL)
REQUEST_STEP(BODY, request_body, NULL)
REQUEST_STEP(RECEIVED, request_received, &r->x->op)
REQUEST_STEP(VERIFIED, request_verified, &r->waiter.op)
REQUEST_STEP(DERIVE, request_derive, NULL)
REQUEST_STEP(CLAIM, request_claim, NULL)
REQUEST_STEP(CLAIMED, request_claimed, &r->c.claim_op.op)
REQUEST_STEP(WAITED, request_waited, &r->waiter.op)
REQUEST_STEP(START, request_start, NULL)
REQUEST_STEP(JOINED, request_joined, &r->c.join)
REQUEST_STEP(PASS, request_pass, NULL)
REQUEST_STEP(PASSED, request_passed, &r->forward.op)
REQUEST_STEP(ANSWER, request_answer, NULL)
REQUEST_STEP(ANSWERED, request_answered, &r->x->op)
REQUEST_STEP(FINISH, request_finish, NULL)

EXECUTION_STEP(RECONCILE, execution_question_reconcile, NULL)
EXECUTION_STEP(RECONCILED, execution_question_reconciled, &e->forward.op)
EXECUTION_STEP(RECLAIM, execution_question_reclaim, NULL)
EXECUTION_STEP(RECLAIMED, execution_question_reclaimed, &e->store.op)
EXECUTION_STEP(FORWARD, execution_forward, NULL)
EXECUTION_STEP(FORWARDED, execution_forwarded, &e->forward.op)
EXECUTION_STEP(LOOK_UP, execution_question_look_up, NULL)
EXECUTION_STEP(LOOKED_UP, execution_question_looked_up, &e->witness.op)
EXECUTION_STEP(COMPLETE, execution_complete, NULL)
EXECUTION_STEP(COMPLETED, execution_completed, &e->store.op)
EXECUTION_STEP(RELEASE, execution_release, NULL)
EXECUTION_STEP(RELEASED, execution_released, &e->store.op)
EXECUTION_STEP(MARK_UNKNOWN, execution_mark_unknown, NULL)
EXECUTION_STEP(MARKED_UNKNOWN, execution_marked_unknown, &e->store.op)
EXECUTION_STEP(JOURNAL, execution_journal, NULL)
EXECUTION_STEP(JOURNALED, execution_journaled, &e->journal.op)
EXECUTION_STEP(PAUSE, execution_pause, NULL)
EXECUTION_STEP(PAUSED, execution_paused, &e->pause)
EXECUTION_STEP(FINISH, execution_finish, NULL)

DELIVERY_STEP(SHAPE, delivery_shape, NULL)
DELIVERY_STEP(TURN, delivery_turn, NULL)
DELIVERY_STEP(TURNED, delivery_turned, &d->place.turn)
DELIVERY_STEP(SEEK, delivery_finish_seek, NULL)
DELIVERY_STEP(SOUGHT, delivery_finish_sought, &d->written.op.op)
DELIVERY_STEP(STAND, delivery_rest_stand, NULL)
DELIVERY_STEP(CLAIM, delivery_claim, NULL)
DELIVERY_STEP(CLAIMED, delivery_claim_answered, &d->c.claim_op.op)
DELIVERY_STEP(EXECUTE, delivery_claim_execute, NULL)
DELIVERY_STEP(EXECUTED, delivery_claim_executed, &d->c.join)
DELIVERY_STEP(WAIT, delivery_rest_wait, NULL)
DELIVERY_STEP(MISS, delivery_rest_miss, NULL)
DELIVERY_STEP(HOLD, delivery_rest_hold, NULL)
DELIVERY_STEP(UNSENT, delivery_rest_unsent, NULL)
DELIVERY_STEP(BACK_OFF, delivery_rest_back_off, NULL)
DELIVERY_STEP(LOOK, delivery_rest_look, NULL)
DELIVERY_STEP(YIELD, delivery_rest_yield, NULL)
DELIVERY_STEP(RESTED, delivery_rest_over, &d->waiter.op)
DELIVERY_STEP(REFUSE, delivery_finish_refuse, NULL)
DELIVERY_STEP(BURY, delivery_finish_bury, NULL)
DELIVERY_STEP(BURIED, delivery_finish_buried, &d->written.op.op)
DELIVERY_STEP(FINISH, delivery_finish, NULL)
DELIVERY_STEP(FINISHED, delivery_finish_answered, &d->finish.op)
DELIVERY_STEP(CONFIRM, delivery_finish_confirm, NULL)
DELIVERY_STEP(CONFIRMED, delivery_finish_confirmed, &d->written.op.op)
DELIVERY_STEP(END, delivery_finish_end, NULL)
DELIVERY_STEP(BEGIN, delivery_replay_begin, NULL)
DELIVERY_STEP(BEGUN, delivery_replay_begun, &d->written.op.op)
DELIVERY_STEP(RELEASE, delivery_replay_release, NULL)
DELIVERY_STEP(RELEASED, delivery_replay_released, &d->replay->record.op.op)
DELIVERY_STEP(STAY, delivery_replay_stay, NULL)
DELIVERY_STEP(STAYED, delivery_replay_stayed, &d->written.op.op)
DELIVERY_STEP(CLOSE, delivery_replay_close, NULL)
DELIVERY_STEP(CLOSED, delivery_replay_closed, &d->written.op.op)

#undef REQUEST_STEP
#undef EXECUTION_STEP
#undef DELIVERY_STEP
