/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/container.h"
#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/commands/values.h"
#include "operators/commands/verbs.h"
#include "operators/commands/witness.h"
#include "operators/commands/witness_sql.h"

/* The command line. */
struct witness_line {
	struct verbs_line common;
	const char *note;
};

static struct witness_line *
line_of(struct verbs_line *common)
{
	return CONTAINER_OF(common, struct witness_line, common);
}

static int
trust_witness(struct verbs_line *common)
{
	json_t *in = json_pack("{s:s, s:s}", "route", common->names[0], "note",
	    line_of(common)->note);
	json_t *answer = NULL;
	if (in == NULL)
		return usage_wrong(
		    "witness", "the ROUTE and --note must be UTF-8");
	if (admin_api_ask(&common->gateway, "POST", "/witnesses/trust", in,
		&answer) != GATEWAY_WELL)
		return GATEWAY_REFUSED;
	if (common->as_json)
		print_json(answer);
	else
		printf("%s: its witness may be believed again, by all "
		       "gateways\n", common->names[0]);
	json_decref(answer);
	return GATEWAY_WELL;
}

static int
print_sql(struct verbs_line *common)
{
	return witness_sql_run(common->gateway.file,
	    common->n_names > 0 ? common->names[0] : NULL);
}

static const struct verb list[] = {
    {"sql", print_sql, "-", NULL, 1, "sql [ROUTE]",
	"prints what the database of an API needs, or that of one ROUTE: the\n"
	"          tables, the foreign key and the grants; no gateway is asked",
	"sql charges"},
    {"trust", trust_witness, "N", "a ROUTE", 1, "trust ROUTE --note TEXT",
	"the API writes its row with each payment again: what ended the trust\n"
	"          (witness_absent, witness_broken) is over, on all gateways;\n"
	"          what was sent before stays UNKNOWN until people resolve it",
	"trust charges --note 'release 7 of the API is taken back'"},
};
enum { N_VERBS = sizeof list / sizeof *list };

static const char *
verb_at(size_t i)
{
	return i < N_VERBS ? list[i].name : NULL;
}

static const struct verb_option options[] = {
    {"note", 'N', true, NULL, NULL,
	"  --note     for the log and Redis: who decided, and why"},
};

static bool
set_option(struct verbs_line *common, char letter, char *value)
{
	(void)letter;
	line_of(common)->note = value;
	return true;
}

static int
check_line(struct verbs_line *common, const struct verb *verb)
{
	const char *note = line_of(common)->note;
	if (verb->run == trust_witness && (note == NULL || *note == '\0'))
		return usage_wrong("witness", "trust needs --note: what was "
		    "looked at, and by whom");
	return GATEWAY_WELL;
}

int
witness_run(int argc, char **argv, const char *default_file)
{
	static const struct verbs verbs = {
	    .command = "witness",
	    .summary = "Prints what the witnesses of routes need (on_unknown), "
		       "and decides\nabout them through the admin interface "
		       "of a running gateway.\n",
	    .about = "witness",
	    .list = list,
	    .count = N_VERBS,
	    .name_at = verb_at,
	    .options = options,
	    .n_options = sizeof options / sizeof *options,
	    .set = set_option,
	    .check = check_line,
	};
	struct witness_line line = {.note = NULL};
	return verbs_run(&verbs, &line.common, argc, argv, default_file);
}
