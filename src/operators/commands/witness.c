/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/commands/values.h"
#include "operators/commands/witness.h"
#include "operators/commands/witness_sql.h"

static int
trust_witness(const struct command_line *line)
{
	json_t *in = json_pack("{s:s, s:s}", "route", line->names[0], "note",
	    line->note);
	json_t *answer = NULL;
	if (admin_api_ask(&line->gateway, "POST", "/witnesses/trust", in,
		&answer) != GATEWAY_WELL)
		return GATEWAY_REFUSED;
	if (line->as_json)
		print_json(answer);
	else
		printf("%s: its witness may be believed again, by all "
		       "gateways\n", line->names[0]);
	json_decref(answer);
	return GATEWAY_WELL;
}

static const struct verb verbs[] = {
    {"sql", witness_sql_run, "-", NULL, 1, "sql [ROUTE]",
	"prints what the database of an API needs, or that of one ROUTE: the\n"
	"          tables, the foreign key and the grants; no gateway is asked",
	"sql charges"},
    {"trust", trust_witness, "jN", "a ROUTE", 1, "trust ROUTE --note TEXT",
	"the API writes its row with each payment again: what ended the trust\n"
	"          (witness_absent, witness_broken) is over, on all gateways;\n"
	"          what was sent before stays UNKNOWN until people resolve it",
	"trust charges --note 'release 7 of the API is taken back'"},
};

static int
check_line(struct command_line *line)
{
	if (line->verb->run == trust_witness &&
	    (line->note == NULL || *line->note == '\0'))
		return usage_wrong("witness", "trust needs --note: what was "
		    "looked at, and by whom");
	return GATEWAY_WELL;
}

const struct command witness_command = {
    .name = "witness",
    .summary = "decide about the witnesses of routes",
    .verbs = verbs,
    .count = sizeof verbs / sizeof *verbs,
    .about = "Prints what the witnesses of routes need (on_unknown), and "
	     "decides\nabout them through the admin interface of a running "
	     "gateway.\n",
    .kind = "witness",
    .check = check_line,
};
