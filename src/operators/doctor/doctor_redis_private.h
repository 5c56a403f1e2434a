/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/findings_private.h"

/*
 * What `doctor` finds of one Redis, however the file names it: a function for
 * each of its lines in tbl/findings.h.  They only judge: all asking was done
 * before.  Main thread.
 */
void doctor_redis_stopped(struct doctor *doctor);
void doctor_redis_certificate(struct doctor *doctor);
void doctor_redis_unreachable(struct doctor *doctor);
void doctor_redis_login(struct doctor *doctor);
void doctor_redis_database(struct doctor *doctor);
void doctor_redis_rights(struct doctor *doctor);
void doctor_redis_old(struct doctor *doctor);
void doctor_redis_replica(struct doctor *doctor);
void doctor_redis_writes(struct doctor *doctor);
void doctor_redis_eviction(struct doctor *doctor);
void doctor_redis_eviction_allowed(struct doctor *doctor);
void doctor_redis_persistence(struct doctor *doctor);
void doctor_redis_appendfsync(struct doctor *doctor);
void doctor_redis_replicas_few(struct doctor *doctor);
void doctor_redis_no_replica(struct doctor *doctor);
void doctor_redis_memory(struct doctor *doctor);
void doctor_redis_clocks(struct doctor *doctor);
void doctor_redis_records_unknown(struct doctor *doctor);
void doctor_redis_records_failed(struct doctor *doctor);
void doctor_redis_old_libraries(struct doctor *doctor);
void doctor_redis_foreign_keys(struct doctor *doctor);
void doctor_redis_encryption_keys(struct doctor *doctor);
void doctor_redis_plain_answers(struct doctor *doctor);

/* What makes a user that can run the gateway and no more; for free(). */
char *doctor_redis_acl(const struct conf *conf);
