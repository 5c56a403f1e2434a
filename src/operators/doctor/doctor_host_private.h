/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` finds of the file and of this machine: a function for each of
 * its lines in tbl/findings.h.  They only judge: all asking was done before,
 * but for what costs nothing to ask here.  Main thread.
 */
/* Looks at the journal; after Redis was asked for the store's id. */
void doctor_host_look(struct doctor *doctor);

void doctor_host_configuration(struct doctor *doctor);
void doctor_host_state_dir(struct doctor *doctor);
void doctor_host_state_dir_open(struct doctor *doctor);
void doctor_host_state_dir_full(struct doctor *doctor);
void doctor_host_journal(struct doctor *doctor);
void doctor_host_journal_foreign(struct doctor *doctor);
void doctor_host_journal_damaged(struct doctor *doctor);
void doctor_host_secret_open(struct doctor *doctor);
void doctor_host_certificate_invalid(struct doctor *doctor);
void doctor_host_certificate_ends(struct doctor *doctor);
void doctor_host_descriptors(struct doctor *doctor);
void doctor_host_managed_server(struct doctor *doctor);
