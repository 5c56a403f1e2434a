/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "base/must.h"
#include "conf/load/conf_load.h"
#include "operators/commands/print.h"
#include "operators/doctor/doctor.h"
#include "operators/doctor/look_private.h"
#include "operators/probe/rights.h"

static const char *const level_names[] = {"ok", "skip", "warn", "fail"};

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
		bool ended =
		    len > 0 && strchr(".?!", finding->message[len - 1]) != NULL;
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
			must(json_object_update_new(
				 one, json_pack("{s:I, s:I}", "line",
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

/* --- the command --- */

/* What is wrong with the file, by its lines. */
static void
look_at_file(struct doctor *doctor, const struct complaints *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct complaint *c = &all->list[i];
		findings_add(doctor, FINDING_configuration, c->pointer,
		    c->line > 0
			? mem_text(c->message)
			: mem_printf("%s: %s", doctor->file, c->message),
		    NULL);
		doctor->list[doctor->count - 1].line = c->line;
		doctor->list[doctor->count - 1].column = c->column;
	}
}

int
doctor_run(const struct command_line *line)
{
	struct complaints complaints = {0};
	const struct conf *conf = conf_load(line->file, false, &complaints);
	struct doctor doctor = {.file = line->file, .conf = conf};
	/* The parts of a gateway that are used here write no log. */
	log_level = LOG_ERROR;
	if (line->acl && conf != NULL) {
		char *acl = rights_acl(conf);
		puts(acl);
		free(acl);
	} else {
		look_at_file(&doctor, &complaints);
		if (conf != NULL) {
			look_host(&doctor);
			look_store(&doctor);
			look_host_journal(&doctor);
			look_upstreams(&doctor);
			look_reconcile(&doctor);
			look_sources(&doctor);
		}
		findings_sort(&doctor);
		if (line->as_json)
			print_findings_as_json(&doctor, line->file);
		else
			print_findings(&doctor, line->file, line->verbose);
	}
	bool well = findings_count(&doctor, LEVEL_FAIL) == 0;
	findings_free(&doctor);
	free(doctor.store_id);
	free(doctor.cli_there);
	free(doctor.cli_manner);
	complaints_free(&complaints);
	conf_unref(&conf);
	return well ? 0 : 1;
}
