/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/commands/admin_api.h"

/*
 * `onceproxy keys` and `onceproxy messages` have verbs, and ask a running
 * gateway.  By their tables their options are read, their help is printed and
 * wrong usage is told.  Nothing here knows a verb.  Main thread.
 */
struct verbs_line {
	struct admin_api gateway;
	bool as_json;
	char **names; /* the arguments behind the verb */
	int n_names;
};

struct verb {
	const char *name;
	/* Asks the gateway and prints its answer; an exit status. */
	int (*run)(struct verbs_line *line);
	/* Letters, besides -c, --json and --help; "-": it asks no gateway. */
	const char *options;
	const char *needs;   /* "an ID": a name at least; NULL: none */
	int most;            /* names that it takes; -1: any number */
	const char *usage;
	const char *message;
	const char *example;
};

struct verb_option {
	const char *name;
	char letter;
	bool has_value;
	const char *form; /* how a value looks; NULL: that is not said */
	const char *(*word_at)(size_t i); /* the values; NULL: any */
	const char *help; /* lines of --help; NULL: the usage says enough */
};

struct verbs {
	const char *command; /* "keys" */
	const char *summary;
	const char *about; /* "record": there may be no such one */
	const struct verb *list;
	size_t count;
	const char *(*name_at)(size_t i); /* of the verbs */
	const struct verb_option *options;
	size_t n_options;
	/* Takes an option; false where it cannot have that value. */
	bool (*set)(struct verbs_line *line, char letter, char *value);
	/* Checks the line for the verb; an exit status. */
	int (*check)(struct verbs_line *line, const struct verb *verb);
};

/*
 * Runs the verb of the command line, where argv[0] is the command; an exit
 * status.  The gateway's file is default_file unless the line says another.
 */
int verbs_run(const struct verbs *verbs, struct verbs_line *line, int argc,
    char **argv, const char *default_file);
/* Reads a whole number from least to most; false where the text is none. */
MUST_USE bool verbs_number(
    const char *text, long least, long most, long *ret_number);
