/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ADMIN_STEP(name, function, operation): the steps of a request to the admin
 * interface, in the order of a life; as in tbl/steps.h (a is the machine).
 */
ADMIN_STEP(CHECK, admin_check, NULL)
ADMIN_STEP(READ, admin_read, NULL)
ADMIN_STEP(RECEIVED, admin_received, &a->x->op)
ADMIN_STEP(PROBE, admin_probe, NULL)
ADMIN_STEP(PROBED, admin_probed, &a->look.op.op)
ADMIN_STEP(COUNT, admin_count, NULL)
ADMIN_STEP(COUNTED, admin_counted, &a->count.op.op)
ADMIN_STEP(LIST, admin_list, NULL)
ADMIN_STEP(LISTED, admin_listed, &a->list.op.op)
ADMIN_STEP(LOOK, admin_look, NULL)
ADMIN_STEP(LOOKED, admin_looked, &a->look.op.op)
ADMIN_STEP(ACT, admin_act, NULL)
ADMIN_STEP(ACTED, admin_acted, &a->look.op.op)
ADMIN_STEP(ANSWER, admin_answer, NULL)
ADMIN_STEP(ANSWERED, admin_answered, &a->x->op)

#undef ADMIN_STEP
