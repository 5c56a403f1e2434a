/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "operators/doctor/doctor_cluster_private.h"
#include "store/redis/info.h"

static const char cluster_pointer[] = "/store/cluster";

/* Of a cluster, as far as it could be looked at. */
static bool
cluster_is_seen(const struct doctor *doctor)
{
	return doctor->redis.place != NULL && doctor->redis.how == REDIS_SEEN;
}

static char *
master_place(const struct doctor *doctor)
{
	return mem_str(span_str(doctor->redis.place));
}

void
doctor_cluster_replica(struct doctor *doctor)
{
	if (!cluster_is_seen(doctor) || doctor->redis.info == NULL)
		return;
	struct span info = span_str(doctor->redis.info);
	if (info_is_master(info) &&
	    info_number(info, SPAN("connected_slaves")) == 0)
		findings_add(doctor, FINDING_cluster_replica, cluster_pointer,
		    NULL, master_place(doctor));
}

void
doctor_cluster_fails(struct doctor *doctor)
{
	if (cluster_is_seen(doctor) && doctor->redis.cluster_fails)
		findings_add(doctor, FINDING_cluster_fails, cluster_pointer,
		    NULL, master_place(doctor));
}

void
doctor_cluster_coverage(struct doctor *doctor)
{
	const char *is = doctor->redis.coverage;
	if (!cluster_is_seen(doctor))
		return;
	if (is == NULL)
		findings_add_skipped(doctor, FINDING_cluster_coverage,
		    "this Redis user may not run CONFIG GET");
	else if (strcmp(is, "yes") == 0)
		findings_add(doctor, FINDING_cluster_coverage, cluster_pointer,
		    NULL, master_place(doctor));
}
