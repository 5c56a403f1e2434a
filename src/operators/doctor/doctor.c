/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "operators/commands/print.h"
#include "operators/doctor/doctor.h"
#include "operators/doctor/doctor_host_private.h"
#include "operators/doctor/doctor_judge_private.h"
#ifdef HAVE_KAFKA
#include "operators/doctor/doctor_kafka_private.h"
#endif
#include "base/loop/log.h"
#include "conf/load/conf_load.h"
#include "operators/doctor/doctor_reconcile_private.h"
#include "operators/doctor/doctor_redis_private.h"
#include "operators/doctor/doctor_relays_private.h"

static const char *const level_names[] = {"ok", "skip", "warn", "fail"};

/* --- looking --- */

static void
look_at_sources(struct doctor *doctor)
{
	size_t count = doctor->conf->n_sources;
	doctor->sources = mem_zero(count * sizeof *doctor->sources);
	for (size_t i = 0; i < count; i++) {
		const struct conf_source *source = &doctor->conf->sources[i];
		source_query(source, &doctor->sources[i]);
#ifdef HAVE_KAFKA
		if (source->broker->kind == BROKER_KAFKA)
			doctor_kafka_source(
			    doctor, source, &doctor->sources[i]);
#endif
	}
}

static void
look_at_all(struct doctor *doctor)
{
	if (conf_has_sentinels(doctor->conf))
		doctor->sentinels = sentinel_query(&doctor->conf->store.redis);
	doctor->n_redises = diagnostics_run(doctor->conf, &doctor->redises);
	doctor->reached = reach_targets(doctor->conf, &doctor->n_reached);
	doctor_reconcile_look(doctor);
	look_at_sources(doctor);
	doctor_relays_look(doctor);
	doctor_host_look(doctor);
}

static void
clear_doctor(struct doctor *doctor)
{
	findings_free(doctor);
	free(doctor->reached);
	if (doctor->sentinels != NULL)
		sentinel_query_free(
		    &doctor->conf->store.redis, &doctor->sentinels);
	for (size_t i = 0; i < doctor->n_redises; i++)
		diagnostics_clear(&doctor->redises[i]);
	free(doctor->redises);
	for (size_t i = 0; doctor->sources && i < doctor->conf->n_sources; i++)
		source_seen_clear(&doctor->sources[i]);
	free(doctor->sources);
	doctor_reconcile_clear(doctor);
	doctor_relays_clear(doctor);
	journal_folder_survey_clear(&doctor->journal);
}

/* --- printing --- */

static void
print_finding(const struct finding *finding, const char *file)
{
	printf("%-4s  ", level_names[finding->level]);
	if (finding->line > 0) {
		print_safely(stdout, file);
		printf(":%zu:%zu: ", finding->line, finding->column);
	}
	if (finding->where != NULL) {
		print_safely(stdout, finding->where);
		fputs(": ", stdout);
	}
	print_safely(stdout, finding->message);
	if (finding->cure[0] != '\0') {
		/* Words of a server may be a whole sentence. */
		size_t len = strlen(finding->message);
		bool ended = len > 0 &&
		    strchr(".?!", finding->message[len - 1]) != NULL;
		fputs(ended ? " To do: " : ". To do: ", stdout);
		print_safely(stdout, finding->cure);
	}
	printf("  [%s]\n", finding_kinds[finding->name].name);
}

static void
print_findings(const struct doctor *doctor, const char *file, bool verbose)
{
	unsigned failures = findings_count(doctor, LEVEL_FAIL);
	unsigned warnings = findings_count(doctor, LEVEL_WARN);
	unsigned skipped = findings_count(doctor, LEVEL_SKIP);
	for (size_t i = 0; i < doctor->count; i++)
		if (verbose || doctor->list[i].level > LEVEL_SKIP)
			print_finding(&doctor->list[i], file);
	print_safely(stdout, file);
	if (failures + warnings == 0)
		fputs(": all is well", stdout);
	else
		printf(": %u failure%s, %u warning%s", failures,
		    failures == 1 ? "" : "s", warnings,
		    warnings == 1 ? "" : "s");
	if (skipped > 0)
		printf("; %u not checked%s", skipped,
		    verbose ? "" : " (-v says why)");
	putchar('\n');
}

static void
print_findings_as_json(const struct doctor *doctor, const char *file)
{
	json_t *list = json_array();
	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *f = &doctor->list[i];
		json_t *one = json_pack("{s:s, s:s, s:s?, s:s, s:s}", "level",
		    level_names[f->level], "name", finding_kinds[f->name].name,
		    "where", f->where, "words", f->message, "cure", f->cure);
		if (f->line > 0)
			must(json_object_update_new(one,
				 json_pack("{s:I, s:I}", "line",
				     (json_int_t)f->line, "column",
				     (json_int_t)f->column)) == 0);
		json_array_append_new(list, one);
	}
	json_t *all = json_pack("{s:s, s:i, s:i, s:o}", "file", file,
	    "failures", (int)findings_count(doctor, LEVEL_FAIL), "warnings",
	    (int)findings_count(doctor, LEVEL_WARN), "findings", list);
	must(all != NULL);
	print_json(all);
	json_decref(all);
}

static void
print_all(const struct doctor *doctor, const struct command_line *line)
{
	if (line->as_json)
		print_findings_as_json(doctor, line->file);
	else
		print_findings(doctor, line->file, line->verbose);
}

/* --- the command --- */

static void
print_acl(const struct conf *conf)
{
	char *line = doctor_redis_acl(conf);
	puts(line);
	free(line);
}

int
doctor_run(const struct command_line *line)
{
	struct complaints complaints = {0};
	const struct conf *conf = conf_load(line->file, &complaints);
	struct doctor doctor = {
	    .file = line->file, .conf = conf, .complaints = &complaints};
	/* The parts of a gateway that are used here write no log. */
	log_set_level(LOG_ERROR);
	if (line->acl && conf != NULL) {
		print_acl(conf);
	} else {
		if (conf != NULL)
			look_at_all(&doctor);
		doctor_judge(&doctor);
		print_all(&doctor, line);
	}
	bool well = findings_count(&doctor, LEVEL_FAIL) == 0;
	clear_doctor(&doctor);
	complaints_free(&complaints);
	conf_unref(&conf);
	return well ? 0 : 1;
}
