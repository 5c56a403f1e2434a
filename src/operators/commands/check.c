/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>

#include "base/loop/clock.h"
#include "base/must.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/review/key_changes.h"
#include "conf/review/warnings.h"
#include "conf/show.h"
#include "operators/commands/check.h"
#include "operators/commands/explain.h"
#include "operators/commands/print.h"

/* --- the changes of a reload --- */

/* Compares the configuration with a file's; false: that is not valid. */
static bool
compare(const struct conf *conf, const char *file,
    struct complaints *complaints)
{
	const struct conf *running = print_unless_valid(file);
	if (running == NULL)
		return false;
	if (running->store.redis.cluster.count > 0)
		(void)conf_restart_finds(running, conf, complaints);
	key_changes_find(running, conf, true, complaints);
	(void)conf_restart_has_events(
	    running->store.events_maxlen > 0, conf, complaints);
	conf_restart_warn(running, conf, complaints);
	conf_unref(&running);
	return true;
}

/* --- the result --- */

static void
print_result_as_json(const char *file, const struct complaints *complaints)
{
	json_t *errors = json_array();
	json_t *warnings = json_array();
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *c = &complaints->list[i];
		bool placed = c->line > 0;
		json_t *one = json_pack("{s:o*, s:o*, s:s?, s:s}", "line",
		    placed ? json_integer((json_int_t)c->line) : NULL,
		    "column",
		    placed ? json_integer((json_int_t)c->column) : NULL,
		    "pointer", c->pointer, "words", c->message);
		must(one != NULL);
		json_array_append_new(c->warning ? warnings : errors, one);
	}
	json_t *all = json_pack("{s:s, s:o, s:o}", "file", file, "errors",
	    errors, "warnings", warnings);
	must(all != NULL);
	print_json(all);
	json_decref(all);
}

int
check_run(const struct command_line *line)
{
	struct complaints complaints = {NULL, 0};
	const struct conf *conf = conf_load(line->file, false, &complaints);
	bool valid = conf != NULL;
	if (conf != NULL) {
		warnings_find(conf, clock_wall_ms(), &complaints);
		if (line->against != NULL)
			valid = compare(conf, line->against, &complaints);
		conf_load_place(conf, &complaints);
	}
	for (size_t i = 0; i < complaints.count; i++)
		valid = valid &&
		    complaints.list[i].warning && !line->strict;
	if (valid && line->explain && line->as_json) {
		/* It is a configuration itself. */
		json_t *all = show_group(GROUP_ROOT, conf);
		print_json(all);
		json_decref(all);
	} else if (line->as_json) {
		print_result_as_json(line->file, &complaints);
	} else {
		print_complaints(stdout, line->file, &complaints);
		if (valid)
			printf("%s: ok\n", line->file);
	}
	if (valid && line->explain && !line->as_json)
		explain_text(conf);
	complaints_free(&complaints);
	conf_unref(&conf);
	return valid ? 0 : 1;
}
