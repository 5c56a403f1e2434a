/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/mem.h"
#include "operators/commands/usage.h"
#include "operators/commands/verbs.h"

bool
verbs_number(const char *text, long least, long most, long *ret_number)
{
	int64_t number;
	if (!digits_read(span_str(text), most, &number) || number < least)
		return false;
	*ret_number = (long)number;
	return true;
}

static const struct verb *
find_verb(const struct verbs *verbs, const char *name)
{
	for (size_t i = 0; i < verbs->count && name != NULL; i++)
		if (!strcmp(verbs->list[i].name, name))
			return &verbs->list[i];
	return NULL;
}

static const struct verb_option *
find_option(const struct verbs *verbs, int letter)
{
	size_t i = 0;
	while (i < verbs->n_options && verbs->options[i].letter != letter)
		i++;
	must(i < verbs->n_options);
	return &verbs->options[i];
}

/* Prints the help about a verb; NULL: about all. */
static void
print_help(const struct verbs *verbs, const struct verb *verb,
    const char *default_file)
{
	const struct verb *first = verb != NULL ? verb : verbs->list;
	size_t count = verb != NULL ? 1 : verbs->count;
	printf("usage: onceproxy %s VERB [options]\n\n%s\n", verbs->command,
	    verbs->summary);
	for (size_t i = 0; i < count; i++)
		printf("    %s\n", first[i].usage);
	putchar('\n');
	for (size_t i = 0; i < count; i++)
		printf("%-9s %s\n", first[i].name, first[i].message);
	printf("\noptions:\n"
	       "  -c FILE    the configuration, which says where the gateway "
	       "is\n             (%s)\n"
	       "  --json     print JSON instead of text\n"
	       "  --help     print this\n", default_file);
	for (size_t i = 0; i < verbs->n_options; i++) {
		const struct verb_option *option = &verbs->options[i];
		if (option->help != NULL &&
		    (verb == NULL ||
			strchr(verb->options, option->letter) != NULL))
			puts(option->help);
	}
	puts("\nexample:");
	for (size_t i = 0; i < count; i++)
		printf("  onceproxy %s %s\n", verbs->command, first[i].example);
	if (verb == NULL)
		printf("\nexit status: 0 success, 1 refused or no such %s, "
		       "2 wrong usage\n", verbs->about);
}

/* Says that the verb does not take the option, but perhaps --body-file. */
static int
wrong_option(
    const struct verbs *verbs, const struct verb *verb, const char *name)
{
	const char *meant = NULL;
	size_t len = strlen(name);
	for (const char *letter = verb->options; *letter != '\0'; letter++) {
		const char *other = find_option(verbs, *letter)->name;
		if (!strncmp(other, name, len) && other[len] == '-')
			meant = other;
	}
	return usage_wrong(verbs->command, "%s does not take --%s%s%s%s",
	    verb->name, name, meant != NULL ? "; did you mean --" : "",
	    meant != NULL ? meant : "", meant != NULL ? "?" : "");
}

/* Takes an option with its value; returns an exit status. */
static int
set_option(
    const struct verbs *verbs, struct verbs_line *line, int letter, char *value)
{
	const struct verb_option *option = find_option(verbs, letter);
	bool well = verbs->set(line, (char)letter, value);
	if (option->word_at != NULL)
		return usage_is_word(value, option->word_at)
		    ? GATEWAY_WELL
		    : usage_unknown_word(verbs->command, option->name, value,
			  option->word_at);
	if (well)
		return GATEWAY_WELL;
	return usage_wrong(verbs->command, "--%s cannot be %s%s%s",
	    option->name, value, option->form != NULL ? "; it is " : "",
	    option->form != NULL ? option->form : "");
}

/*
 * Reads all options, of which given gets the letters but for -c, --json and
 * --help; an exit status.
 */
static int
read_options(const struct verbs *verbs, struct verbs_line *line, int argc,
    char **argv, char *given, bool *ret_help)
{
	int letter, code = GATEWAY_WELL;
	size_t n = 0;
	struct option *options =
	    mem_zero((verbs->n_options + 4) * sizeof *options);
	options[n++] = (struct option){"config", required_argument, NULL, 'c'};
	options[n++] = (struct option){"help", no_argument, NULL, 'h'};
	options[n++] = (struct option){"json", no_argument, NULL, 'j'};
	for (size_t i = 0; i < verbs->n_options; i++)
		options[n++] = (struct option){verbs->options[i].name,
		    verbs->options[i].has_value ? required_argument
						: no_argument,
		    NULL, verbs->options[i].letter};
	opterr = 0;
	optind = 0;
	while (code == GATEWAY_WELL &&
	    (letter = getopt_long(argc, argv, ":c:h", options, NULL)) != -1) {
		if (letter == ':')
			code = usage_wrong(verbs->command, "%s needs a value",
			    argv[optind - 1]);
		else if (letter == '?')
			code = usage_unknown_option(verbs->command,
			    argv[optind - 1], options, NULL);
		else if (letter == 'c')
			line->gateway.file = optarg;
		else if (letter == 'h')
			*ret_help = true;
		else if (letter == 'j')
			line->as_json = true;
		else if (strchr(given, letter) == NULL)
			given[strlen(given)] = (char)letter;
		if (code == GATEWAY_WELL && strchr("chj", letter) == NULL)
			code = set_option(verbs, line, letter, optarg);
	}
	free(options);
	return code;
}

/* Runs the verb that argv[optind] names, if the line is right for it. */
static int
run_verb(const struct verbs *verbs, struct verbs_line *line, int argc,
    char **argv, const char *given)
{
	if (optind >= argc)
		return usage_missing(verbs->command, "verb", verbs->name_at);
	const char *name = argv[optind];
	const struct verb *verb = find_verb(verbs, name);
	if (verb == NULL)
		return usage_unknown(
		    verbs->command, "verb", name, verbs->name_at);
	line->names = argv + optind + 1;
	line->n_names = argc - optind - 1;
	for (; *given != '\0'; given++)
		if (strchr(verb->options, *given) == NULL)
			return wrong_option(
			    verbs, verb, find_option(verbs, *given)->name);
	if (verb->needs != NULL && line->n_names == 0)
		return usage_wrong(verbs->command, "%s needs %s", verb->name,
		    verb->needs);
	if (verb->most >= 0 && line->n_names > verb->most)
		return usage_wrong(verbs->command, "unexpected argument: %s",
		    line->names[verb->most]);
	int code = verbs->check(line, verb);
	if (code == GATEWAY_WELL && strchr(verb->options, '-') == NULL)
		code = admin_api_find(&line->gateway);
	return code == GATEWAY_WELL ? verb->run(line) : code;
}

int
verbs_run(const struct verbs *verbs, struct verbs_line *line, int argc,
    char **argv, const char *default_file)
{
	bool help = false;
	char *given = mem_zero(verbs->n_options + 1);
	line->gateway = (struct admin_api){verbs->command, default_file, NULL};
	int code = read_options(verbs, line, argc, argv, given, &help);
	if (code == GATEWAY_WELL && help)
		print_help(verbs,
		    find_verb(verbs, optind < argc ? argv[optind] : NULL),
		    default_file);
	else if (code == GATEWAY_WELL)
		code = run_verb(verbs, line, argc, argv, given);
	free(given);
	conf_unref(&line->gateway.conf);
	if (fflush(stdout) != 0 && code == GATEWAY_WELL)
		code = GATEWAY_REFUSED;
	return code;
}
