/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` finds of the sources of messages and of their brokers: a
 * function for each of their lines in tbl/findings.h.  They only judge: all
 * asking was done before.  Main thread.
 */
void doctor_sources_unreachable(struct doctor *doctor);
void doctor_sources_login(struct doctor *doctor);
void doctor_sources_replica(struct doctor *doctor);
void doctor_sources_eviction(struct doctor *doctor);
void doctor_sources_persistence(struct doctor *doctor);
void doctor_sources_missing(struct doctor *doctor);
void doctor_sources_rights(struct doctor *doctor);
void doctor_sources_order(struct doctor *doctor);
void doctor_sources_trimmed(struct doctor *doctor);
void doctor_sources_waits(struct doctor *doctor);
void doctor_sources_index(struct doctor *doctor);
void doctor_sources_no_id(struct doctor *doctor);
void doctor_sources_deleting(struct doctor *doctor);
void doctor_sources_snapshot(struct doctor *doctor);
void doctor_sources_places(struct doctor *doctor);
void doctor_sources_copies(struct doctor *doctor);
void doctor_sources_sizes(struct doctor *doctor);
void doctor_sources_offsets(struct doctor *doctor);
void doctor_sources_others(struct doctor *doctor);
