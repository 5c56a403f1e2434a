/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/mem.h"
#include "cmd/findings_private.h"
#include "redis/info.h"

/* What there is to say of one master of a Redis Cluster. */

static const char cluster_pointer[] = "/store/cluster";

/* Of a cluster, as far as it could be looked at. */
static bool
is_seen(const struct doctor *doctor)
{
	return doctor->redis.place != NULL && doctor->redis.how == REDIS_SEEN;
}

static char *
place_of(const struct doctor *doctor)
{
	return mem_str(span_str(doctor->redis.place));
}

void
check_cluster_replica(struct doctor *doctor)
{
	if (!is_seen(doctor) || doctor->redis.info == NULL)
		return;
	struct span info = span_str(doctor->redis.info);
	if (info_is_master(info) &&
	    info_number(info, SPAN("connected_slaves")) == 0)
		doctor_found(doctor, FINDING_cluster_replica, cluster_pointer,
		    NULL, place_of(doctor));
}

void
check_cluster_fails(struct doctor *doctor)
{
	if (is_seen(doctor) && doctor->redis.cluster_fails)
		doctor_found(doctor, FINDING_cluster_fails, cluster_pointer,
		    NULL, place_of(doctor));
}

void
check_cluster_coverage(struct doctor *doctor)
{
	const char *is = doctor->redis.coverage;
	if (!is_seen(doctor))
		return;
	if (is == NULL)
		doctor_skipped(doctor, FINDING_cluster_coverage,
		    "this user of Redis may not run CONFIG GET");
	else if (strcmp(is, "yes") == 0)
		doctor_found(doctor, FINDING_cluster_coverage, cluster_pointer,
		    NULL, place_of(doctor));
}
