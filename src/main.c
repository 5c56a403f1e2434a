/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "operators/commands/check.h"
#include "operators/commands/events.h"
#include "operators/commands/keys.h"
#include "operators/commands/messages.h"
#include "operators/commands/serve.h"
#include "operators/commands/usage.h"
#include "operators/commands/witness.h"
#include "operators/doctor/doctor.h"

/* Exit codes: 0 well, 1 refused, 2 wrong usage. */
enum { EXIT_USAGE = 2 };

static const char default_file[] = SYSCONFDIR "/onceproxy/onceproxy.json";

/* What it was built with, of what can be left out. */
static const char built_with[] =
#ifdef HAVE_POSTGRES
    "with postgres\n"
#else
    "without postgres\n"
#endif
#ifdef HAVE_KAFKA
    "with kafka\n"
#else
    "without kafka\n"
#endif
#ifdef HAVE_SYSTEMD
    "with systemd\n"
#else
    "without systemd\n"
#endif
    ;

/* --- the commands --- */

static const struct verb serve = {NULL, serve_run, "-", NULL, 0, "[-c FILE]",
    "Runs the gateway until SIGTERM or SIGINT, which drain it: it accepts\n"
    "no new connections, finishes what is in flight, and exits with 0.\n"
    "SIGHUP reads the configuration again. Logs go to standard error, one\n"
    "JSON object per line.\n",
    "-c onceproxy.json"};
static const struct verb check = {NULL, check_run, "-TGej", NULL, 0,
    "[-c FILE] [--strict] [--against FILE] [--explain] [--json]",
    "Prints \"FILE: ok\", or one line per error with the line, the column\n"
    "and the JSON pointer of the member that is wrong, and then exits\n"
    "with 1. What is legal and endangers the promise is a warning, which\n"
    "changes the exit status with --strict alone. With --explain, also\n"
    "prints what each route will do, and all settings.\n",
    "-c onceproxy.json --explain"};
static const struct verb doctor = {NULL, doctor_run, "-vaj", NULL, 0,
    "[-c FILE] [-v] [--json] [--acl]",
    "Connects to Redis, upstreams and brokers, changes nothing, and\n"
    "prints a line for each danger with what to do about it. Exits with\n"
    "1 if any of them is a failure. Run it as the user that runs the\n"
    "gateway.\n",
    "-c onceproxy.json -v"};
static const struct verb events = {NULL, events_run, "-woj", NULL, 0,
    "[-c FILE] [--follow] [--from POSITION] [--json]",
    "Prints a line for each change of a key's state, in order of time,\n"
    "from the streams that store.events switches on: when, from which\n"
    "state to which, the answer's status, the attempt, the key id, the\n"
    "position, the route, the label. It asks Redis itself and changes\n"
    "nothing. Exits with 1 where Redis cannot be read or lacks what was\n"
    "asked for.\n",
    "--follow --from 15m"};

static const struct command plain[] = {
    {.name = "serve", .verbs = &serve, .count = 1,
	.summary = "run the gateway in the foreground"},
    {.name = "check", .verbs = &check, .count = 1,
	.summary = "check the configuration without opening a port"},
    {.name = "doctor", .verbs = &doctor, .count = 1,
	.summary =
	    "look for what endangers the promise: Redis, upstreams, brokers"},
    {.name = "events", .verbs = &events, .count = 1,
	.summary = "show the changes of keys' states (store.events)"},
};

static const struct command *const commands[] = {&plain[0], &plain[1],
    &plain[2], &plain[3], &keys_command, &messages_command, &witness_command};
enum { N_COMMANDS = sizeof commands / sizeof *commands };

static void
print_help(FILE *to)
{
	fprintf(to,
	    "usage: onceproxy COMMAND [-c FILE]\n\n"
	    "An HTTP gateway in front of payment APIs that makes every\n"
	    "request with an Idempotency-Key happen once.\n\ncommands:\n");
	for (int i = 0; i < N_COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i]->name,
		    commands[i]->summary);
	fprintf(to,
	    "\noptions:\n"
	    "  -c FILE    the configuration (%s)\n"
	    "  --version  print the version (-V)\n"
	    "  --help     print this, or after a command, its help; so does\n"
	    "             help COMMAND\n\n"
	    "example:\n"
	    "  onceproxy serve -c onceproxy.json\n",
	    default_file);
}

static int
run(int argc, char **argv)
{
	static const char *const options[] = {"help", "version", NULL};
	const char *names[N_COMMANDS + 2] = {NULL};
	for (int i = 0; i < N_COMMANDS; i++) {
		names[i] = commands[i]->name;
		if (!strcmp(argv[0], names[i]))
			return command_run(
			    commands[i], argc, argv, default_file);
	}
	names[N_COMMANDS] = "help";
	return *argv[0] == '-'
	    ? usage_unknown_option("", argv[0], options)
	    : usage_unknown("", "command", argv[0], names);
}

/* "help COMMAND" is "COMMAND --help". */
static int
help(int argc, char **argv)
{
	char option[] = "--help";
	char *words[] = {argc > 1 ? argv[1] : NULL, option, NULL};
	if (words[0] != NULL)
		return run(2, words);
	print_help(stdout);
	return 0;
}

/*
 * "-c FILE check", as other programs have it, becomes "check -c FILE"; false
 * where no command follows.
 */
static bool
command_first(int argc, char **argv)
{
	bool apart =
	    !strcmp(argv[1], "-c") || !strcmp(argv[1], "--config");
	bool joined = (argv[1][0] == '-' && argv[1][1] == 'c') ||
	    !strncmp(argv[1], "--config=", 9);
	int at = apart ? 3 : 2;
	if (!apart && !joined)
		return true;
	if (at >= argc)
		return false;
	char *command = argv[at];
	for (int i = at; i > 1; i--)
		argv[i] = argv[i - 1];
	argv[1] = command;
	return true;
}

int
main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("onceproxy %s\n%s", PACKAGE_VERSION, built_with);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return 0;
	}
	if (!command_first(argc, argv))
		return usage_wrong("", "a command is missing, as in: onceproxy "
		    "serve -c FILE");
	/* Random bytes without a system call for each owner and request. */
	must(randombytes_set_implementation(
		 &randombytes_internal_implementation) == 0);
	must(sodium_init() >= 0);
	return !strcmp(argv[1], "help") ? help(argc - 1, argv + 1)
					: run(argc - 1, argv + 1);
}
