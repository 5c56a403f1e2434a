/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` finds of one master of a Redis Cluster: a function for each of
 * its lines in tbl/findings.h.  They only judge: all asking was done before.
 * Main thread.
 */
void doctor_cluster_replica(struct doctor *doctor);
void doctor_cluster_fails(struct doctor *doctor);
void doctor_cluster_coverage(struct doctor *doctor);
