/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "base/must.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/review/key_changes.h"
#include "conf/review/warnings.h"
#include "operators/commands/check.h"
#include "operators/commands/explain.h"
#include "operators/commands/print.h"

static void
print_result(
    const char *file, const struct complaints *complaints, bool valid)
{
	print_complaints(stdout, file, complaints, true);
	if (valid)
		printf("%s: ok\n", file);
}

static json_t *
complaint_as_json(const struct complaint *c)
{
	json_t *json = json_object();
	if (c->line > 0)
		must(json_object_update_new(json,
			 json_pack("{s:I, s:I}", "line", (json_int_t)c->line,
			     "column", (json_int_t)c->column)) == 0);
	must(json_object_update_new(json,
		 json_pack("{s:s?, s:s}", "pointer", c->pointer, "words",
		     c->message)) == 0);
	return json;
}

static void
print_result_as_json(const char *file, const struct complaints *complaints)
{
	json_t *errors = json_array();
	json_t *warnings = json_array();
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *c = &complaints->list[i];
		must(json_array_append_new(c->warning ? warnings : errors,
			 complaint_as_json(c)) == 0);
	}
	json_t *all = json_pack("{s:s, s:o, s:o}", "file", file, "errors",
	    errors, "warnings", warnings);
	must(all != NULL);
	print_json(all);
	json_decref(all);
}

/* What a reload from that file to this one changes; false: it is not valid. */
static bool
compare(const struct conf *conf, const char *file,
    struct complaints *complaints)
{
	struct complaints wrong = {NULL, 0};
	const struct conf *running = conf_load(file, &wrong);
	bool valid = running != NULL;
	if (valid) {
		(void)conf_restart_finds(running, conf, complaints);
		key_changes_find(running, conf, complaints);
		key_changes_of_store(running, conf, complaints);
		(void)conf_restart_has_events(running, conf, complaints);
		conf_restart_warn(running, conf, complaints);
	} else {
		print_complaints(stderr, file, &wrong, true);
	}
	complaints_free(&wrong);
	conf_unref(&running);
	return valid;
}

/* The same of what a gateway that runs has told. */
static bool
compare_running(const struct conf *conf, const json_t *running,
    struct complaints *complaints)
{
	struct complaints wrong = {NULL, 0};
	bool valid = key_changes_told(running, conf, complaints, &wrong);
	if (valid) {
		(void)conf_restart_has_events_told(running, conf, complaints);
		conf_restart_warn_told(running, conf, complaints);
	} else {
		print_complaints(stderr, "the running gateway", &wrong, true);
	}
	complaints_free(&wrong);
	return valid;
}

/* Adds the warnings; false where the other file cannot be compared. */
static bool
review(const struct conf *conf, const struct command_line *line,
    struct complaints *complaints)
{
	bool valid = !line->untold;
	warnings_find(conf, clock_wall_ms(), complaints);
	if (line->against != NULL)
		valid = compare(conf, line->against, complaints);
	if (line->running != NULL)
		valid = compare_running(conf, line->running, complaints);
	conf_load_place(conf, complaints);
	complaints_sort(complaints);
	return valid;
}

/* Whether nothing was found that makes the exit status 1. */
static bool
is_well(const struct complaints *complaints, bool strict)
{
	for (size_t i = 0; i < complaints->count; i++)
		if (strict || !complaints->list[i].warning)
			return false;
	return true;
}

int
check_run(const struct command_line *line)
{
	struct complaints complaints = {NULL, 0};
	const struct conf *conf = conf_load(line->file, &complaints);
	bool valid = conf != NULL && review(conf, line, &complaints);
	valid = valid && is_well(&complaints, line->strict);
	if (valid && line->explain && line->as_json)
		explain_json(conf);
	else if (line->as_json)
		print_result_as_json(line->file, &complaints);
	else
		print_result(line->file, &complaints, valid);
	if (valid && line->explain && !line->as_json)
		explain_text(conf);
	complaints_free(&complaints);
	conf_unref(&conf);
	return valid ? 0 : 1;
}
