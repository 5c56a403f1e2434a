/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/must.h"
#include "conf/conf.h"

/*
 * The command line of `onceproxy keys`: its options, and what they say.  It
 * knows no verb.  Main thread.
 */
enum { KEYS_WELL = 0, KEYS_REFUSED = 1, KEYS_WRONG_USAGE = 2 };

struct keys_line {
	const char *file;
	bool help;
	bool as_json;
	const char *state;
	long limit;
	const char *route;
	const char *find;
	const char *key;
	json_t *values; /* an object: pointers of a derived key */
	const char *namespace;
	json_t *scope; /* an object */
	bool with_body;
	long status;
	json_t *headers; /* a list of pairs */
	const char *body_file;
	const char *note;
	long attempt;         /* 0: whichever it is */
	bool yes;             /* nobody is asked */
	const char *ids_file; /* KEY_IDs, a line each; NULL: none */
	const char **ids;     /* KEY_IDs; keys_ids_read */
	size_t n_ids;
	char *ids_text; /* that some of them lie in */
	size_t n_shown; /* records that were printed */

	char given[32]; /* the letters of the options that are there */
	const struct conf *conf;
};

/*
 * Reads the options, argv[0] being "keys"; *ret_next is the index of the first
 * argument behind them.  An exit code.
 */
int keys_line_read(
    struct keys_line *line, int argc, char **argv, int *ret_next);
/* The long name of an option. */
const char *keys_line_option(int letter);
/* Frees what was read, and drops the configuration. */
void keys_line_clear(struct keys_line *line);
