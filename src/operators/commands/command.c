/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digits.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "operators/commands/command.h"
#include "operators/commands/usage.h"

/* --- the options of all commands --- */

struct command_option {
	const char *name;
	char letter;
	enum { FLAG, PATH, TEXT, NUMBER, STATE, OTHER } kind;
	size_t offset;    /* of its member; of OTHER none */
	long least, most; /* of a NUMBER */
	const char *form; /* of OTHER: how a value looks */
	const char *help; /* lines of --help; NULL: the usage says enough */
};

#define MEMBER(name) offsetof(struct command_line, name)

static const struct command_option options[] = {
    {"config", 'c', PATH, MEMBER(file), 0, 0, NULL, NULL},
    {"help", 'h', OTHER, 0, 0, 0, NULL, NULL},
    {"json", 'j', FLAG, MEMBER(as_json), 0, 0, NULL,
	"  --json     print JSON instead of text"},
    {"strict", 'T', FLAG, MEMBER(strict), 0, 0, NULL,
	"  --strict   exit with 1 where there are warnings, too"},
    {"against", 'G', PATH, MEMBER(against), 0, 0, NULL,
	"  --against  the file that runs: warn of what a reload would change "
	"of\n             keys that exist"},
    {"explain", 'e', FLAG, MEMBER(explain), 0, 0, NULL,
	"  --explain  show what the routes will do, and all settings"},
    {"follow", 'w', FLAG, MEMBER(follow), 0, 0, NULL,
	"  --follow   wait for more, until it is interrupted"},
    {"from", 'o', TEXT, MEMBER(from), 0, 0, NULL,
	"  --from     where to begin: a position that was printed, a time\n"
	"             (2026-11-20T09:00:00Z), so long ago (15m), or \"now\""},
    {"verbose", 'v', FLAG, MEMBER(verbose), 0, 0, NULL,
	"  -v         also show what is well, and what was not checked"},
    {"acl", 'a', FLAG, MEMBER(acl), 0, 0, NULL,
	"  --acl      print only the ACL line that creates a Redis user for\n"
	"             this configuration"},
    {"source", 'B', TEXT, MEMBER(source), 0, 0, NULL, NULL},
    {"state", 's', STATE, MEMBER(state), 0, 0, NULL, NULL},
    {"limit", 'l', NUMBER, MEMBER(limit), 1, 1000000, NULL, NULL},
    {"route", 'r', TEXT, MEMBER(route), 0, 0, NULL, NULL},
    {"key", 'k', TEXT, MEMBER(key), 0, 0, NULL, NULL},
    {"json-value", 'V', OTHER, 0, 0, 0,
	"/POINTER=VALUE, like /order_id=order-17", NULL},
    {"namespace", 'n', TEXT, MEMBER(namespace), 0, 0, NULL, NULL},
    {"from-file", 'F', PATH, MEMBER(ids_file), 0, 0, NULL,
	"  --from-file FILE\n"
	"             KEY_IDs, the first word of each line, or what list "
	"printed,\n             which has the attempt, too; - is standard "
	"input"},
    {"scope", 'S', OTHER, 0, 0, 0,
	"'NAME: VALUE', like 'Authorization: Bearer T' or "
	"'basic.user: alice'",
	"  --scope    what names the tenant, as the route's scope has it: "
	"'NAME: VALUE'\n             of a header, or of basic.user, "
	"path.NAME, jwt.CLAIM,\n             certificate.subject, "
	"certificate.fingerprint"},
    {"scope-file", 'C', OTHER, 0, 0, 0,
	"a file with lines like 'Authorization: Bearer T'",
	"  --scope-file FILE\n"
	"             lines as --scope has them, so that no token stands in "
	"a\n             list of processes; - is standard input"},
    {"body", 'b', FLAG, MEMBER(with_body), 0, 0, NULL, NULL},
    {"status", 't', NUMBER, MEMBER(status), 200, 599, NULL, NULL},
    {"header", 'H', OTHER, 0, 0, 0,
	"'NAME: VALUE', like 'Content-Type: application/json'", NULL},
    {"body-file", 'f', PATH, MEMBER(body_file), 0, 0, NULL, NULL},
    {"unproven", 'U', FLAG, MEMBER(unproven), 0, 0, NULL, NULL},
    {"attempt", 'A', NUMBER, MEMBER(attempt), 1, 999999, NULL,
	"  --attempt  only if the record is at this attempt"},
    {"note", 'N', TEXT, MEMBER(note), 0, 0, NULL,
	"  --note     who decided, and why: for the log, and where the "
	"decision is kept"},
    {"yes", 'y', FLAG, MEMBER(yes), 0, 0, NULL, "  --yes      nobody is asked"},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

static const struct command_option *
find_option(int letter)
{
	size_t i = 0;
	while (i < N_OPTIONS && options[i].letter != letter)
		i++;
	must(i < N_OPTIONS);
	return &options[i];
}

/* True where the verb, or where it is NULL one of the command's, takes it. */
static bool
takes(const struct command *command, const struct verb *verb, char letter)
{
	bool some = letter == 'c' || letter == 'h';
	for (size_t i = 0; i < command->count && !some; i++)
		some = (verb == NULL || verb == &command->verbs[i]) &&
		    strchr(command->verbs[i].options, letter) != NULL;
	return some;
}

/* --- help --- */

/* Prints the help about a verb; NULL: about all. */
static void
print_help(const struct command *command, const struct verb *verb,
    const char *default_file)
{
	const struct verb *first = verb != NULL ? verb : command->verbs;
	size_t count = verb != NULL ? 1 : command->count;
	const char *name = command->name;
	bool plain = command->verbs[0].name == NULL;
	if (plain)
		printf("usage: onceproxy %s %s\n\n%s", name, first->usage,
		    first->message);
	else
		printf("usage: onceproxy %s VERB [options]\n\n%s\n", name,
		    command->about);
	for (size_t i = 0; i < count && !plain; i++)
		printf("    %s\n", first[i].usage);
	putchar('\n');
	for (size_t i = 0; i < count && !plain; i++)
		printf("%-9s %s\n", first[i].name, first[i].message);
	printf("%soptions:\n  -c FILE    the configuration%s (%s)\n",
	    plain ? "" : "\n",
	    plain ? "" : ", which says where the gateway is\n            ",
	    default_file);
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (options[i].help != NULL &&
		    takes(command, verb, options[i].letter))
			puts(options[i].help);
	puts("  --help     print this\n\nexample:");
	for (size_t i = 0; i < count; i++)
		printf("  onceproxy %s %s\n", name, first[i].example);
	if (verb == NULL && !plain)
		printf("\nexit status: 0 success, 1 refused or no such %s, "
		       "2 wrong usage\n",
		    command->kind);
}

/* --- reading --- */

/* Says that the verb does not take the option, but perhaps --body-file. */
static int
wrong_option(
    const struct command *command, const struct verb *verb, const char *name)
{
	const char *meant = NULL;
	size_t len = strlen(name);
	for (const char *letter = verb->options; *letter != '\0'; letter++) {
		const char *other =
		    *letter != '-' ? find_option(*letter)->name : "";
		if (!strncmp(other, name, len) && other[len] == '-')
			meant = other;
	}
	return usage_wrong(command->name, "%s does not take --%s%s%s%s",
	    verb->name, name, meant != NULL ? "; did you mean --" : "",
	    meant != NULL ? meant : "", meant != NULL ? "?" : "");
}

/* Takes an option with its value; returns an exit status. */
static int
set_option(
    struct command_line *line, const struct command_option *option, char *value)
{
	const struct command *command = line->command;
	char *member = (char *)line + option->offset;
	struct span text = span_str(value);
	int64_t number;
	size_t i = 0;
	switch (option->kind) {
	case FLAG:
		*(bool *)member = true;
		return GATEWAY_WELL;
	case TEXT:
	case PATH:
		if (option->kind == TEXT && !utf8_is_valid(text))
			return usage_wrong(
			    command->name, "--%s must be UTF-8", option->name);
		*(const char **)(void *)member = value;
		return GATEWAY_WELL;
	case STATE:
		while (command->states[i] != NULL &&
		    strcasecmp(command->states[i], value) != 0)
			i++;
		*(const char **)(void *)member = command->states[i];
		return command->states[i] != NULL
		    ? GATEWAY_WELL
		    : usage_unknown_word(command->name, option->name, value,
			  command->states);
	case NUMBER:
		if (!digits_read(text, option->most, &number) ||
		    number < option->least)
			return usage_wrong(command->name,
			    "--%s cannot be %s; it is a whole number from %ld "
			    "to %ld",
			    option->name, value, option->least, option->most);
		*(long *)(void *)member = (long)number;
		return GATEWAY_WELL;
	case OTHER:
		break;
	}
	return command->set(line, option->letter, value)
	    ? GATEWAY_WELL
	    : usage_wrong(command->name, "--%s cannot be %s; it is %s",
		  option->name, value, option->form);
}

/* Reads all options, of which given gets the letters; an exit status. */
static int
read_options(
    struct command_line *line, int argc, char **argv, char given[N_OPTIONS + 1])
{
	const struct command *command = line->command;
	struct option known[N_OPTIONS + 1] = {{NULL, 0, NULL, 0}};
	const char *names[N_OPTIONS + 1] = {NULL};
	int letter, code = GATEWAY_WELL, n = 0;
	for (size_t i = 0; i < N_OPTIONS; i++) {
		const struct command_option *option = &options[i];
		if (!takes(command, NULL, option->letter))
			continue;
		bool bare = option->kind == FLAG || option->letter == 'h';
		names[n] = option->name;
		known[n++] = (struct option){option->name,
		    bare ? no_argument : required_argument, NULL,
		    option->letter};
	}
	const char *letters = takes(command, NULL, 'v') ? ":c:hv" : ":c:h";
	opterr = 0;
	optind = 0;
	while (code == GATEWAY_WELL &&
	    (letter = getopt_long(argc, argv, letters, known, NULL)) != -1) {
		if (letter == ':')
			return usage_wrong(command->name, "%s needs a value",
			    argv[optind - 1]);
		if (letter == '?')
			return usage_unknown_option(
			    command->name, argv[optind - 1], names);
		if (strchr(given, letter) == NULL)
			given[strlen(given)] = (char)letter;
		if (letter != 'h')
			code = set_option(line, find_option(letter), optarg);
	}
	return code;
}

/* Runs the verb, if the line is right for it. */
static int
run_verb(
    struct command_line *line, const char *given, const char *default_file)
{
	const struct command *command = line->command;
	const struct verb *verb = line->verb;
	const char *name = command->name;
	for (; *given != '\0'; given++)
		if (!takes(command, verb, *given))
			return wrong_option(
			    command, verb, find_option(*given)->name);
	if (verb->needs != NULL && line->n_names == 0)
		return usage_wrong(
		    name, "%s needs %s", verb->name, verb->needs);
	if (verb->most >= 0 && line->n_names > verb->most) {
		const char *extra = line->names[verb->most];
		bool file = verb->name == NULL && line->file == default_file;
		return usage_wrong(name, "unexpected argument: %s%s%s%s", extra,
		    file ? "; did you mean -c " : "", file ? extra : "",
		    file ? "?" : "");
	}
	for (int i = 0; i < line->n_names; i++)
		if (!utf8_is_valid(span_str(line->names[i])))
			return usage_wrong(name, "names must be UTF-8");
	int code = command->check != NULL ? command->check(line) : GATEWAY_WELL;
	if (code == GATEWAY_WELL && strchr(verb->options, '-') == NULL)
		code = admin_api_find(&line->gateway);
	return code == GATEWAY_WELL ? verb->run(line) : code;
}

int
command_run(const struct command *command, int argc, char **argv,
    const char *default_file)
{
	char given[N_OPTIONS + 1] = "";
	struct command_line line = {
	    .command = command, .file = default_file, .limit = 100};
	int code = read_options(&line, argc, argv, given);
	const struct verb *verb = command->verbs;
	const char *name = NULL;
	if (verb->name != NULL) {
		const struct verb *end = verb + command->count;
		name = optind < argc ? argv[optind++] : NULL;
		while (verb < end && (name == NULL || strcmp(verb->name, name)))
			verb++;
		verb = verb < end ? verb : NULL;
	}
	line.verb = verb;
	line.gateway.command = command->name;
	line.gateway.file = line.file;
	line.names = argv + optind;
	line.n_names = argc - optind;
	if (code == GATEWAY_WELL && strchr(given, 'h') != NULL) {
		print_help(command, verb, default_file);
	} else if (code == GATEWAY_WELL && verb == NULL) {
		const char **names =
		    mem_zero((command->count + 1) * sizeof *names);
		for (size_t i = 0; i < command->count; i++)
			names[i] = command->verbs[i].name;
		code = usage_unknown(command->name, "verb", name, names);
		free(names);
	} else if (code == GATEWAY_WELL) {
		code = run_verb(&line, given, default_file);
	}
	json_decref(line.values);
	json_decref(line.scope);
	json_decref(line.headers);
	free(line.ids);
	free(line.meant);
	free(line.ids_text);
	conf_unref(&line.gateway.conf);
	if (fflush(stdout) != 0 && code == GATEWAY_WELL)
		code = GATEWAY_REFUSED;
	return code;
}
