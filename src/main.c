/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/must.h"
#include "cmd/check.h"
#include "cmd/keys.h"
#include "cmd/serve.h"

/* Exit codes: 0 well, 1 refused, 2 wrong usage. */
enum { EXIT_USAGE = 2 };

static const char default_file[] = SYSCONFDIR "/onceproxy/onceproxy.json";

/* The commands: name, function, what it does, for --help. */
static const struct command {
	const char *name;
	int (*run)(const char *file);
	const char *summary;
	const char *help;
} commands[] = {
    {"serve", cmd_serve, "run the gateway in the foreground",
	"Runs the gateway until SIGTERM or SIGINT, which drain it: it stops\n"
	"accepting, ends what is in flight, and exits with 0. Logs go to\n"
	"standard error, one JSON object per line.\n"},
    {"check", cmd_check, "check the configuration without opening a port",
	"Prints \"FILE: ok\", or one line per error with the JSON pointer of\n"
	"the member it is about, and then exits with 1.\n"},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static void
print_help(FILE *to)
{
	fprintf(to,
	    "usage: onceproxy COMMAND [-c FILE]\n\n"
	    "An HTTP gateway in front of payment APIs that makes every\n"
	    "request with an Idempotency-Key happen once.\n\ncommands:\n");
	for (int i = 0; i < N_COMMANDS; i++)
		fprintf(to, "  %-8s %s\n", commands[i].name,
		    commands[i].summary);
	fprintf(to, "  %-8s %s\n", "keys",
	    "show and resolve records of a running gateway");
	fprintf(to,
	    "\noptions:\n"
	    "  -c FILE    the configuration (%s)\n"
	    "  --version  print the version\n"
	    "  --help     print this, or with a command what that does\n",
	    default_file);
}

static void
print_command_help(const struct command *command)
{
	printf("usage: onceproxy %s [-c FILE]\n\n%s\noptions:\n"
	       "  -c FILE  the configuration (%s)\n",
	    command->name, command->help, default_file);
}

static int
usage(const char *words, const char *what)
{
	fprintf(stderr, "onceproxy: %s%s\nTry 'onceproxy --help'.\n", words,
	    what);
	return EXIT_USAGE;
}

static int
run_command(const struct command *command, int argc, char **argv)
{
	static const struct option options[] = {
	    {"help", no_argument, NULL, 'h'},
	    {"config", required_argument, NULL, 'c'},
	    {NULL, 0, NULL, 0},
	};
	const char *file = default_file;
	int option;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":c:h", options, NULL)) != -1)
		switch (option) {
		case 'c':
			file = optarg;
			break;
		case 'h':
			print_command_help(command);
			return 0;
		case ':':
			return usage("-c needs a file", "");
		default:
			return usage("no such option: ", argv[optind - 1]);
		}
	if (optind < argc)
		return usage("unexpected: ", argv[optind]);
	return command->run(file);
}

int
main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("onceproxy %s\n", PACKAGE_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return 0;
	}
	/* Random bytes without a system call for each owner and request. */
	must(randombytes_set_implementation(
		 &randombytes_internal_implementation) == 0);
	must(sodium_init() >= 0);
	/* It has verbs and options of its own. */
	if (!strcmp(argv[1], "keys"))
		return cmd_keys(argc - 1, argv + 1, default_file);
	for (int i = 0; i < N_COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return run_command(&commands[i], argc - 1, argv + 1);
	return usage("no such command: ", argv[1]);
}
