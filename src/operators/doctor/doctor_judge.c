/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/doctor/doctor_cluster_private.h"
#include "operators/doctor/doctor_host_private.h"
#include "operators/doctor/doctor_judge_private.h"
#include "operators/doctor/doctor_listen_private.h"
#include "operators/doctor/doctor_reconcile_private.h"
#include "operators/doctor/doctor_redis_private.h"
#include "operators/doctor/doctor_relays_private.h"
#include "operators/doctor/doctor_sentinel_private.h"
#include "operators/doctor/doctor_sources_private.h"
#include "operators/doctor/doctor_upstream_private.h"
#include "operators/doctor/redis_cli_private.h"

/* By the names of tbl/findings.h. */
static void (*const judges[])(struct doctor *doctor) = {
#define FINDING(name, level, function, ...) function,
#include "tbl/findings.h"
#undef FINDING
};

/* What holds of several masters alike is said once. */
static bool
is_said(const struct doctor *doctor, size_t from, size_t index)
{
	const struct finding *finding = &doctor->list[index];
	for (size_t i = from; i < index; i++)
		if (doctor->list[i].level == finding->level &&
		    strcmp(doctor->list[i].message, finding->message) == 0)
			return true;
	return false;
}

/* Names the master in what was found of it, which begins at count. */
static void
name_master(struct doctor *doctor, size_t before, size_t count)
{
	for (size_t i = count; i < doctor->count; i++) {
		struct finding *finding = &doctor->list[i];
		if (finding->level <= LEVEL_SKIP) {
			if (is_said(doctor, before, i))
				findings_drop(doctor, i--);
			continue;
		}
		char *message = finding->message;
		finding->message =
		    mem_printf("%s: %s", doctor->redis.place, message);
		free(message);
	}
}

static bool
is_of_redis(size_t kind)
{
	return kind >= FINDING_redis_stopped && kind <= FINDING_foreign_keys;
}

static void
judge_kind(struct doctor *doctor, size_t kind)
{
	size_t before = doctor->count;
	size_t times = is_of_redis(kind) ? doctor->n_redises : 1;
	for (size_t i = 0; i < times; i++) {
		size_t count = doctor->count;
		if (doctor->n_redises > 0)
			doctor->redis = doctor->redises[i];
		judges[kind](doctor);
		if (is_of_redis(kind))
			redis_cli_to_store(doctor, count);
		if (is_of_redis(kind) && doctor->redis.place != NULL)
			name_master(doctor, before, count);
	}
}

void
doctor_judge(struct doctor *doctor)
{
	size_t most = doctor->conf != NULL ? FINDING_COUNT_ : 1;
	for (size_t i = 0; i < most; i++) {
		size_t before = doctor->count;
		judge_kind(doctor, i);
		if (doctor->count == before)
			findings_add_well(doctor, (enum finding_name)i,
			    mem_str(span_str(finding_kinds[i].well)));
	}
}
