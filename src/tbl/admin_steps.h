/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ADMIN_STEP(name, function, operation): the steps of a request to the admin
 * interface, in life order.  The columns are those of tbl/steps.h; a is the
 * machine.  An operation is started by the step before it, or by the endpoint's
 * own function.
 */
ADMIN_STEP(CHECK, admin_request_check, NULL)
ADMIN_STEP(RECEIVED, admin_request_received, &a->x->op)
ADMIN_STEP(PROBED, admin_status_probed, &a->look.op.op)
ADMIN_STEP(COUNTED, admin_status_counted, &a->count.op.op)
ADMIN_STEP(LISTED, admin_keys_listed, &a->list.op.op)
ADMIN_STEP(SHOWN, admin_keys_shown, &a->look.op.op)
ADMIN_STEP(REVOKED, admin_keys_revoked, &a->errand.op)
ADMIN_STEP(INQUIRED, admin_keys_inquired, &a->errand.op)
ADMIN_STEP(ACTED, admin_keys_acted, &a->look.op.op)
ADMIN_STEP(TRUSTED, admin_witness_trusted, &a->trust.op)
ADMIN_STEP(SURVEYED, admin_sources_surveyed, &a->inquiry.op)
ADMIN_STEP(ORDERED, admin_sources_ordered, &a->pause.op.op)
ADMIN_STEP(REWOUND, admin_sources_rewound, &a->rewind.op.op)
ADMIN_STEP(PROVED, admin_sources_proved, &a->inquiry.op)
ADMIN_STEP(SOUGHT, admin_messages_sought, &a->inquiry.op)
ADMIN_STEP(LETTERS_LISTED, admin_messages_letters_listed,
	&a->letter_list.op.op)
ADMIN_STEP(LETTER_SOUGHT, admin_messages_letter_sought, &a->letter.op.op)
ADMIN_STEP(LOOKED, admin_messages_looked, &a->look.op.op)
ADMIN_STEP(ASKED, admin_messages_asked, &a->letter.op.op)
ADMIN_STEP(RESTED, admin_messages_rested, &a->rest)
ADMIN_STEP(FOUND, admin_messages_found, &a->letter.op.op)
ADMIN_STEP(ANSWER, admin_answer_send, NULL)
ADMIN_STEP(ANSWERED, admin_answer_sent, &a->x->op)

#undef ADMIN_STEP
