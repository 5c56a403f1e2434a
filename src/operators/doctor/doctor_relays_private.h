/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` finds of relays and of what they bring to: a function for each
 * of their lines in tbl/findings.h, which only judges, and the asking before.
 * Main thread.
 */
void doctor_relays_look(struct doctor *doctor);
void doctor_relays_clear(struct doctor *doctor);

void doctor_relays_unreachable(struct doctor *doctor);
void doctor_relays_table(struct doctor *doctor);
void doctor_relays_topic(struct doctor *doctor);
void doctor_relays_rights(struct doctor *doctor);
