/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What the API answers where a reconcile asks it, to a key that no payment has:
 * a random UUID, made for this run.  A GET is all that is sent, and without
 * credentials, for nobody's are known here.  Main thread.
 */

/* Asks for each such route. */
void doctor_reconcile_look(struct doctor *doctor);
void doctor_reconcile_clear(struct doctor *doctor);
/* Judges what was answered: a line of tbl/findings.h. */
void doctor_reconcile_invented(struct doctor *doctor);
void doctor_reconcile_absent(struct doctor *doctor);
