/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` finds of the Sentinels: a function for each of their lines in
 * tbl/findings.h.  They only judge: all asking was done before.  Main thread.
 */
void doctor_sentinel_lost(struct doctor *doctor);
void doctor_sentinel_few(struct doctor *doctor);
void doctor_sentinel_behind(struct doctor *doctor);

/*
 * What a replica has in its configuration behind "replicaof", as far as the
 * Sentinels, the file and the master's INFO tell; the caller frees it.
 */
char *doctor_sentinel_replicaof(
    const struct doctor *doctor, struct span info);
