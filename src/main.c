/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
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

static int
serve_line(const struct command_line *line)
{
	return serve_run(line->file);
}

/* The commands: name, function, what it does, for --help. */
static const struct command {
	const char *name;
	int (*run)(const struct command_line *line);
	const char *options; /* letters, besides -c and --help */
	const char *usage;
	const char *summary;
	const char *help;
	const char *example;
} commands[] = {
    {"serve", serve_line, "", "[-c FILE]", "run the gateway in the foreground",
	"Runs the gateway until SIGTERM or SIGINT, which drain it: it accepts\n"
	"no new connections, finishes what is in flight, and exits with 0.\n"
	"SIGHUP reads the configuration again. Logs go to standard error, one\n"
	"JSON object per line.\n",
	"onceproxy serve -c onceproxy.json"},
    {"check", check_run, "Aejs",
	"[-c FILE] [--strict] [--against FILE|URL] [--explain] [--json]",
	"check the configuration without opening a port",
	"Prints \"FILE: ok\", or one line per error with the line, the column\n"
	"and the JSON pointer of the member that is wrong, and then exits\n"
	"with 1. What is legal and endangers the promise is a warning, which\n"
	"changes the exit status with --strict alone. With --explain, also\n"
	"prints what each route will do, and all settings.\n",
	"onceproxy check -c onceproxy.json --explain"},
    {"doctor", doctor_run, "ajv", "[-c FILE] [-v] [--json] [--acl]",
	"look for what endangers the promise: Redis, upstreams, brokers",
	"Connects to Redis, upstreams and brokers, changes nothing, and\n"
	"prints a line for each danger with what to do about it. Exits with\n"
	"1 if any of them is a failure. Run it as the user that runs the\n"
	"gateway.\n",
	"onceproxy doctor -c onceproxy.json -v"},
    {"events", events_run, "fFj",
	"[-c FILE] [--follow] [--from POSITION] [--json]",
	"show the changes of keys' states (store.events)",
	"Prints a line for each change of a key's state, in order of time,\n"
	"from the streams that store.events switches on: when, from which\n"
	"state to which, the answer's status, the attempt, the key id, the\n"
	"position, the route, the label. It asks Redis itself and changes\n"
	"nothing. Exits with 1 where Redis cannot be read or lacks what was\n"
	"asked for.\n",
	"onceproxy events --follow --from 15m"},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0] };

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},
    {"config", required_argument, NULL, 'c'},
    {"against", required_argument, NULL, 'A'},
    {"explain", no_argument, NULL, 'e'},
    {"json", no_argument, NULL, 'j'},
    {"strict", no_argument, NULL, 's'},
    {"verbose", no_argument, NULL, 'v'},
    {"acl", no_argument, NULL, 'a'},
    {"follow", no_argument, NULL, 'f'},
    {"from", required_argument, NULL, 'F'},
    {NULL, 0, NULL, 0},
};

static const struct {
	char letter;
	const char *message;
} option_help[] = {
    {'s', "  --strict   exit with 1 where there are warnings, too\n"},
    {'A', "  --against  the file that runs, or the address of a gateway's "
	  "admin\n             interface (http://HOST:PORT, unix:/path): warn "
	  "of what a\n             reload would change of keys that exist\n"},
    {'e', "  --explain  show what the routes will do, and all settings\n"},
    {'f', "  --follow   wait for more, until it is interrupted\n"},
    {'F', "  --from     where to begin: a position that was printed, a "
	  "time\n             (2026-11-20T09:00:00Z), so long ago (15m), or "
	  "\"now\"\n"},
    {'v', "  -v         also show what is well, and what was not checked\n"},
    {'j', "  --json     print JSON instead of text\n"},
    {'a', "  --acl      print only the ACL line that creates a Redis user "
	  "for\n             this configuration\n"},
};

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
	fprintf(to, "  %-8s %s\n", "messages",
	    "show sources and resolve messages of a running gateway");
	fprintf(to, "  %-8s %s\n", "witness",
	    "decide about the witnesses of routes");
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

static void
print_command_help(const struct command *command)
{
	enum { N = sizeof option_help / sizeof *option_help };
	printf("usage: onceproxy %s %s\n\n%s\noptions:\n"
	       "  -c FILE    the configuration (%s)\n",
	    command->name, command->usage, command->help, default_file);
	for (int i = 0; i < N; i++)
		if (strchr(command->options, option_help[i].letter) != NULL)
			fputs(option_help[i].message, stdout);
	puts("  --help     print this");
	printf("\nexample:\n  %s\n", command->example);
}

static const char *
command_at(size_t i)
{
	static const char *const others[] = {
	    "keys", "messages", "witness", "help", NULL};
	return i < N_COMMANDS ? commands[i].name : others[i - N_COMMANDS];
}

/* False: the command has no such option. */
static bool
take_option(
    const struct command *command, int option, struct command_line *line)
{
	if (option == 'c') {
		line->file = optarg;
		return true;
	}
	line->explain |= option == 'e';
	line->as_json |= option == 'j';
	line->verbose |= option == 'v';
	line->acl |= option == 'a';
	line->follow |= option == 'f';
	line->strict |= option == 's';
	if (option == 'F')
		line->from = optarg;
	if (option == 'A')
		line->against = optarg;
	return strchr(command->options, option) != NULL;
}

static int
wrong_option(const struct command *command, const char *given)
{
	char *letters = mem_printf("ch%s", command->options);
	int code =
	    usage_unknown_option(command->name, given, options, letters);
	free(letters);
	return code;
}

static int
run_command(const struct command *command, int argc, char **argv)
{
	struct command_line line = {.file = default_file};
	int option;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":c:hv", options, NULL)) !=
	    -1) {
		if (option == 'h') {
			print_command_help(command);
			return 0;
		}
		if (option == ':')
			return usage_wrong(command->name, "%s needs a value",
			    argv[optind - 1]);
		if (option == '?' || !take_option(command, option, &line))
			return wrong_option(command, argv[optind - 1]);
	}
	if (optind < argc && line.file == default_file)
		return usage_wrong(command->name,
		    "unexpected argument: %s; did you mean -c %s?",
		    argv[optind], argv[optind]);
	if (optind < argc)
		return usage_wrong(command->name, "unexpected argument: %s",
		    argv[optind]);
	int code = command->run(&line);
	return fflush(stdout) != 0 && code == 0 ? 1 : code;
}

static int
run(int argc, char **argv)
{
	/* These have verbs and options of their own. */
	if (!strcmp(argv[0], "keys"))
		return keys_run(argc, argv, default_file);
	if (!strcmp(argv[0], "messages"))
		return messages_run(argc, argv, default_file);
	if (!strcmp(argv[0], "witness"))
		return witness_run(argc, argv, default_file);
	for (int i = 0; i < N_COMMANDS; i++)
		if (!strcmp(argv[0], commands[i].name))
			return run_command(&commands[i], argc, argv);
	return *argv[0] == '-'
	    ? usage_unknown_option("", argv[0], options, "hV")
	    : usage_unknown("", "command", argv[0], command_at);
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
