/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/span.h"
#include "operators/commands/admin_api.h"

/*
 * The command line: each command is a table, by which its options are read, its
 * help is printed and wrong usage is told.  Nothing here knows what a command
 * does.  Main thread.
 */

/* A record as a list has shown it: its attempt, and when it had changed. */
struct command_meant {
	long attempt;        /* 0: any */
	struct span changed; /* empty: any */
};

/* What was said, and what becomes of it until the command has run. */
struct command_line {
	const struct command *command;
	const struct verb *verb; /* NULL: none of the command's */
	struct admin_api gateway; /* where the verb asks one */
	const char *file;         /* the configuration */
	bool as_json;
	char **names; /* the arguments behind the command or its verb */
	int n_names;

	/* check, doctor, events */
	bool verbose, explain, strict, acl, follow;
	const char *against; /* a file; NULL: not said */
	const char *from;    /* NULL: not said */

	/* keys, messages, witness */
	const char *state, *note;
	long limit;
	const char *source;
	bool unproven;

	/* keys */
	const char *route, *find, *key, *namespace;
	json_t *values;  /* an object: pointers of a derived key */
	json_t *scope;   /* an object */
	json_t *headers; /* a list of pairs */
	bool with_body, yes;
	long status, attempt; /* 0: not said */
	const char *body_file;
	const char *ids_file; /* KEY_IDs, a line each */
	const char **ids;     /* of the arguments and that file */
	struct command_meant *meant; /* of these */
	size_t n_ids;
	char *ids_text; /* that some of them lie in */
};

/* A verb; or, where it has no name, all that its command does. */
struct verb {
	const char *name;
	/* Returns an exit status. */
	int (*run)(const struct command_line *line);
	/* Letters, besides -c and --help; "-": it asks no gateway. */
	const char *options;
	const char *needs; /* "an ID": a name at least; NULL: none */
	int most;          /* names that it takes; -1: any number */
	const char *usage;
	const char *message;
	const char *example;
};

struct command {
	const char *name;
	const char *summary; /* a line of the program's help */
	const struct verb *verbs;
	size_t count;
	/* Those that have verbs: */
	const char *about; /* lines of its help */
	const char *kind;  /* "record": there may be no such one */
	const char *const *states; /* of --state; NULL is the last */
	/* Takes another option; false where it cannot have that value. */
	bool (*set)(struct command_line *line, char letter, const char *value);
	/* Checks the line for its verb; an exit status. */
	int (*check)(struct command_line *line);
};

/*
 * Runs the command, whose name is argv[0], or its verb; an exit status.  The
 * configuration is default_file unless the line says another.
 */
int command_run(const struct command *command, int argc, char **argv,
    const char *default_file);
