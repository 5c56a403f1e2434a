/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "cmd/check.h"
#include "cmd/explain.h"
#include "cmd/print.h"
#include "load/certificates.h"
#include "load/conf_load.h"
#include "loop/clock.h"

static void
print_result(const char *file, const struct complaints *complaints)
{
	print_complaints(stdout, file, complaints, true);
	if (complaints->count == 0)
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
	for (size_t i = 0; i < complaints->count; i++)
		json_array_append_new(
		    errors, complaint_as_json(&complaints->list[i]));
	json_t *all =
	    json_pack("{s:s, s:o}", "file", file, "errors", errors);
	must(all != NULL);
	print_json(all);
	json_decref(all);
}

/* They are served, but no client would accept them. */
static void
check_certificates(const struct conf *conf, struct complaints *complaints)
{
	int64_t now_ms = clock_wall_ms();
	for (size_t i = 0; i < conf->n_listen; i++) {
		const struct conf_tls *tls = &conf->listen[i].tls;
		if (tls->credentials == NULL ||
		    certificates_time(tls, now_ms) < CERTIFICATES_EARLY)
			continue;
		char *pointer = mem_printf("/listen/%zu/tls/certificate", i);
		char *words = certificates_words(tls, now_ms);
		complaints_add(complaints, pointer, "%s", words);
		free(pointer);
		free(words);
	}
}

int
check_run(const struct command_line *line)
{
	struct complaints complaints = {NULL, 0};
	const struct conf *conf = conf_load(line->file, &complaints);
	if (conf != NULL)
		check_certificates(conf, &complaints);
	bool valid = complaints.count == 0;
	if (valid && line->explain && line->as_json)
		explain_json(conf);
	else if (line->as_json)
		print_result_as_json(line->file, &complaints);
	else
		print_result(line->file, &complaints);
	if (valid && line->explain && !line->as_json)
		explain_text(conf);
	complaints_free(&complaints);
	conf_unref(&conf);
	return valid ? 0 : 1;
}
