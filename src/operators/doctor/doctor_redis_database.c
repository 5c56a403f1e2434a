/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>

#include "base/mem.h"
#include "operators/doctor/doctor_redis_private.h"

/*
 * A file of its own: in a cluster there is but one, and who names another finds
 * out here, and not from a gateway that can serve nobody.
 */
void
doctor_redis_database(struct doctor *doctor)
{
	const struct conf_redis *at = &doctor->conf->store.redis;
	if (doctor->redis.how == REDIS_NO_DATABASE)
		findings_add(doctor, FINDING_redis_database, "/store/redis",
		    mem_printf("%" PRId64 ": %s", at->db,
			doctor->redis.message),
		    NULL);
	else if (doctor->redis.how != REDIS_SEEN)
		findings_add_skipped(doctor, FINDING_redis_database,
		    "Redis could not be examined");
}
