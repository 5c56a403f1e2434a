/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_pointer.h"
#include "base/mem.h"
#include "base/must.h"
#include "operators/doctor/doctor_sources_private.h"
#include "operators/doctor/redis_cli_private.h"

enum { WAIT_MS = 60000 };

/* --- what it is about --- */

static char *
name_pointer(const char *member, const char *name)
{
	char *pointer = NULL;
	size_t len;
	FILE *out = open_memstream(&pointer, &len);
	must(out != NULL);
	fprintf(out, "/%s", member);
	json_pointer_write(out, span_str(name));
	must(fclose(out) == 0);
	return pointer;
}

/* Another source before it has the same broker: said once. */
static bool
broker_is_known(const struct doctor *doctor, size_t index)
{
	const struct conf_source *all = doctor->conf->sources;
	for (size_t i = 0; i < index; i++)
		if (all[i].broker == all[index].broker)
			return true;
	return false;
}

static void
add_of_broker(struct doctor *doctor, enum finding_name name, size_t index,
    const char *detail)
{
	if (broker_is_known(doctor, index))
		return;
	char *where = name_pointer(
	    "brokers", doctor->conf->sources[index].broker->name);
	findings_add(doctor, name, where,
	    detail != NULL ? mem_str(span_str(detail)) : NULL, NULL);
	redis_cli_to_broker(doctor, doctor->count - 1,
	    &doctor->conf->sources[index].broker->redis);
	free(where);
}

/* detail and remedy may be NULL; detail is taken over. */
static void
add_of_source(struct doctor *doctor, enum finding_name name, size_t index,
    char *detail, const char *remedy)
{
	char *where =
	    name_pointer("sources", doctor->conf->sources[index].name);
	findings_add(doctor, name, where, detail,
	    remedy != NULL ? mem_str(span_str(remedy)) : NULL);
	free(where);
}

/* What was seen of that source; NULL, after saying so: nothing was. */
static const struct source_seen *
seen_of(struct doctor *doctor, enum finding_name name, size_t index)
{
	const struct source_seen *seen = &doctor->sources[index];
	if (seen->how == BROKER_SEEN)
		return seen;
	if (!broker_is_known(doctor, index))
		findings_add_skipped(
		    doctor, name, "the broker could not be examined");
	return NULL;
}

/* --- brokers --- */

static size_t
n_sources_of(const struct doctor *doctor)
{
	return doctor->conf->n_sources;
}

void
doctor_sources_unreachable(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++)
		if (doctor->sources[i].how == BROKER_SILENT)
			add_of_broker(doctor, FINDING_broker_unreachable, i,
			    doctor->sources[i].message);
}

void
doctor_sources_login(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen = &doctor->sources[i];
		if (seen->how == BROKER_REFUSED && !seen->replica)
			add_of_broker(doctor, FINDING_broker_login, i,
			    seen->message);
		else if (seen->how == BROKER_SILENT)
			(void)seen_of(doctor, FINDING_broker_login, i);
	}
}

void
doctor_sources_replica(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++)
		if (doctor->sources[i].replica)
			add_of_broker(doctor, FINDING_broker_replica, i, NULL);
		else
			(void)seen_of(doctor, FINDING_broker_replica, i);
}

void
doctor_sources_eviction(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_broker_eviction, i);
		if (seen == NULL || seen->policy == NULL)
			continue;
		char *detail =
		    mem_printf("maxmemory-policy is %s", seen->policy);
		add_of_broker(doctor, FINDING_broker_eviction, i, detail);
		free(detail);
	}
}

void
doctor_sources_persistence(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_broker_persistence, i);
		if (seen != NULL && seen->forgets)
			add_of_broker(
			    doctor, FINDING_broker_persistence, i, NULL);
	}
}

/* --- sources --- */

/* Of each source that has words there, in its source_seen. */
static void
add_words(struct doctor *doctor, enum finding_name name, size_t member)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const void *seen = seen_of(doctor, name, i);
		if (seen == NULL)
			continue;
		const char *words = *(const char *const *)(const void *)(
		    (const char *)seen + member);
		if (words != NULL)
			add_of_source(doctor, name, i, mem_text(words), NULL);
	}
}

#define WORDS(name) offsetof(struct source_seen, name)

void
doctor_sources_missing(struct doctor *doctor)
{
	add_words(doctor, FINDING_source_missing, WORDS(missing));
}

void
doctor_sources_rights(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_source_rights, i);
		if (seen != NULL && seen->rights != NULL)
			add_of_source(doctor, FINDING_source_rights, i,
			    mem_str(span_str(seen->rights)), seen->grant);
	}
}

void
doctor_sources_order(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_source_order, i);
		if (seen != NULL && seen->no_order)
			add_of_source(doctor, FINDING_source_order, i,
			    mem_str(span_str(
				doctor->conf->sources[i].columns.id)), NULL);
	}
}

void
doctor_sources_trimmed(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_source_trimmed, i);
		if (seen != NULL && seen->trimmed > 0)
			add_of_source(doctor, FINDING_source_trimmed, i,
			    mem_printf("%" PRIu64, seen->trimmed), NULL);
	}
}

static char *
waiting(const struct source_seen *seen)
{
	char *count = seen->lag >= 0 ? mem_printf("%" PRId64 ", ", seen->lag)
				     : mem_str(SPAN(""));
	char *text = mem_printf("%sthe oldest for %" PRId64 " s", count,
	    seen->waits_ms / 1000);
	free(count);
	return text;
}

void
doctor_sources_waits(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_source_waits, i);
		if (seen == NULL)
			continue;
		if (seen->waits_ms >= WAIT_MS)
			add_of_source(doctor, FINDING_source_waits, i,
			    waiting(seen), NULL);
		else if (seen->lag >= 0)
			findings_add_well(doctor, FINDING_source_waits,
			    mem_printf("%s: %" PRId64 " messages are unread",
				doctor->conf->sources[i].name, seen->lag));
	}
}

/* --- tables --- */

void
doctor_sources_index(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_source_index, i);
		if (seen != NULL && seen->index != NULL)
			add_of_source(doctor, FINDING_source_index, i,
			    mem_str(span_str(doctor->conf->sources[i].table)),
			    seen->index);
	}
}

void
doctor_sources_no_id(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_source_no_id, i);
		if (seen != NULL && seen->no_ids)
			add_of_source(doctor, FINDING_source_no_id, i,
			    mem_str(span_str(doctor->conf->sources[i].table)),
			    NULL);
	}
}

void
doctor_sources_deleting(struct doctor *doctor)
{
	add_words(doctor, FINDING_source_deleting, WORDS(deleting));
}

void
doctor_sources_snapshot(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++) {
		const struct source_seen *seen =
		    seen_of(doctor, FINDING_source_snapshot, i);
		if (seen == NULL)
			continue;
		if (seen->snapshot != NULL)
			add_of_broker(doctor, FINDING_source_snapshot, i,
			    seen->snapshot);
		else if (seen->blind && !broker_is_known(doctor, i))
			findings_add_skipped(doctor, FINDING_source_snapshot,
			    "this user may not see the sessions of others "
			    "(GRANT pg_read_all_stats)");
	}
}

/* --- topics --- */

void
doctor_sources_places(struct doctor *doctor)
{
	add_words(doctor, FINDING_source_places, WORDS(no_place));
}

void
doctor_sources_copies(struct doctor *doctor)
{
	add_words(doctor, FINDING_source_copies, WORDS(few_copies));
}

/* The longest answer that any route keeps. */
static int64_t
longest_answer(const struct conf *conf)
{
	int64_t bytes = 0;
	for (size_t i = 0; i < conf->n_routes; i++) {
		const struct conf_idempotency *policy =
		    conf->routes[i].idempotency;
		if (policy != NULL && policy->max_response_body > bytes)
			bytes = policy->max_response_body;
	}
	return bytes;
}

static void
judge_results(struct doctor *doctor, size_t index)
{
	int64_t longest = longest_answer(doctor->conf);
	int64_t takes = doctor->sources[index].results_bytes;
	if (takes > 0 && takes < longest)
		add_of_source(doctor, FINDING_source_sizes, index,
		    mem_printf("max.message.bytes of %s is %" PRId64
			       ", and max_response_body %" PRId64,
			doctor->conf->sources[index].results, takes, longest),
		    NULL);
}

void
doctor_sources_sizes(struct doctor *doctor)
{
	for (size_t i = 0; i < n_sources_of(doctor); i++)
		if (doctor->sources[i].how == BROKER_SEEN)
			judge_results(doctor, i);
	add_words(doctor, FINDING_source_sizes, WORDS(too_small));
}

void
doctor_sources_offsets(struct doctor *doctor)
{
	add_words(doctor, FINDING_source_offsets, WORDS(offsets));
}

void
doctor_sources_others(struct doctor *doctor)
{
	add_words(doctor, FINDING_source_others, WORDS(others));
}
