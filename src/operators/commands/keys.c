/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "operators/commands/gateway.h"
#include "operators/commands/keys.h"
#include "operators/commands/keys_ids_private.h"
#include "operators/commands/keys_verb_private.h"
#include "operators/commands/usage.h"

static const struct keys_verb {
	const char *name;
	int (*run)(struct keys_line *line);
	const char *options; /* letters of those that it takes */
	enum { TAKES_NOTHING, TAKES_IDS, TAKES_TEXT } takes;
	const char *usage;
	const char *message;
	const char *example;
} verbs[] = {
    {"list", keys_verb_list, "srl", TAKES_NOTHING,
	"list [--state STATE] [--route ROUTE] [--limit N]",
	"records that are PROCESSING, UNKNOWN or FAILED, oldest first",
	"list --state UNKNOWN"},
    {"find", keys_verb_find, "srl", TAKES_TEXT,
	"find TEXT [--state STATE] [--route ROUTE] [--limit N]",
	"those of them whose label or first request's id has that text, or\n"
	"          whose KEY_ID begins with it; by a whole KEY_ID any record",
	"find order-17"},
    {"show", keys_verb_show, "bkvnSCF", TAKES_IDS,
	"show KEY_ID... [--body]\n"
	"    show --key KEY [--namespace N] [--scope 'Header: value']... "
	"[--body]\n"
	"    show --json-value /POINTER=VALUE... [--namespace N]\n"
	"        [--scope 'Header: value']... [--body]",
	"one record, by its KEY_ID, by the client's key, or by the values\n"
	"          of the body that the key is derived from; with --body,\n"
	"          also the stored answer",
	"show --key order-17 --scope 'Authorization: Bearer sk_live_1'"},
    {"release", keys_verb_release, "NAFy", TAKES_IDS,
	"release KEY_ID... [--attempt N] [--note TEXT] [--yes]",
	"it did not happen: the key is free, and the next retry executes;\n"
	"          at a terminal, asks first",
	"release 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --note 'not in the ledger'"},
    {"complete", keys_verb_complete, "tHfNAFy", TAKES_IDS,
	"complete KEY_ID... --status N [--header 'Name: value']...\n"
	"        [--body-file FILE] [--attempt N] [--note TEXT] [--yes]",
	"it happened: every retry gets this answer; FILE may be -; at a\n"
	"          terminal, asks before an answer without a body",
	"complete 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --status 201 \\\n"
	"      --header 'Content-Type: application/json' --body-file a.json"},
    {"delete", keys_verb_delete, "NAFy", TAKES_IDS,
	"delete KEY_ID... [--attempt N] [--note TEXT] [--yes]",
	"the record is forgotten, and the key can execute again; asks first",
	"delete 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --note 'a test'"},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

/* --- help --- */

static const struct {
	char letter;
	const char *text;
} helps[] = {
    {'F', "  --from-file FILE\n"
	  "             KEY_IDs, the first word of each line; - is standard "
	  "input"},
    {'S', "  --scope    what names the tenant, as the route's scope has it: "
	  "'NAME: VALUE'\n             of a header, or of basic.user, "
	  "path.NAME, jwt.CLAIM,\n             certificate.subject, "
	  "certificate.fingerprint"},
    {'C', "  --scope-file FILE\n"
	  "             lines as --scope has them, so that no token stands in "
	  "a\n             list of processes; - is standard input"},
    {'A', "  --attempt  only if the record is at this attempt"},
    {'N', "  --note     for the log and the record: who decided, and why"},
    {'y', "  --yes      nobody is asked"},
};

static void
print_verb(const struct keys_verb *verb)
{
	printf("%-9s %s\n", verb->name, verb->message);
}

/* verb: which one is asked about; NULL: all. */
static void
print_keys_help(const char *default_file, const struct keys_verb *verb)
{
	const struct keys_verb *first = verb != NULL ? verb : verbs;
	int count = verb != NULL ? 1 : N_VERBS;
	puts("usage: onceproxy keys VERB [options]\n\n"
	     "Shows the records of idempotency keys and resolves them, "
	     "through\nthe admin interface of a running gateway.\n");
	for (int i = 0; i < count; i++)
		printf("    %s\n", first[i].usage);
	putchar('\n');
	for (int i = 0; i < count; i++)
		print_verb(&first[i]);
	puts("\noptions:");
	printf("  -c FILE    the configuration, which says where the gateway "
	       "is\n             (%s)\n"
	       "  --json     print JSON instead of text\n"
	       "  --help     print this\n",
	    default_file);
	for (size_t i = 0; i < sizeof helps / sizeof *helps; i++)
		if (verb == NULL ||
		    strchr(verb->options, helps[i].letter) != NULL)
			puts(helps[i].text);
	puts("\nexample:");
	for (int i = 0; i < count; i++)
		printf("  onceproxy keys %s\n", first[i].example);
	if (verb == NULL)
		puts("\nexit status: 0 success, 1 refused or no such record, "
		     "2 wrong usage");
}

static int
find_gateway(struct keys_line *line)
{
	struct gateway gateway = {"keys", line->file, NULL};
	bool found = gateway_find(&gateway) == GATEWAY_WELL;
	line->conf = gateway.conf;
	return found ? KEYS_WELL : KEYS_REFUSED;
}

/* --- the command --- */

static const struct keys_verb *
find_verb(const char *name)
{
	for (int i = 0; i < N_VERBS; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

static const char *
verb_at(size_t i)
{
	return i < N_VERBS ? verbs[i].name : NULL;
}

/* The verb does not take it; perhaps one whose name goes on: --body-file. */
static int
wrong_option(const struct keys_verb *verb, int given)
{
	const char *name = keys_line_option(given);
	const char *meant = NULL;
	size_t len = strlen(name);
	for (const char *o = verb->options; *o != '\0'; o++) {
		const char *other = keys_line_option(*o);
		if (!strncmp(other, name, len) && other[len] == '-')
			meant = other;
	}
	return usage_wrong("keys", "%s does not take --%s%s%s%s", verb->name,
	    name, meant != NULL ? "; did you mean --" : "",
	    meant != NULL ? meant : "", meant != NULL ? "?" : "");
}

/* What stands behind the options: the verb and any KEY_IDs. */
static int
take_verb(struct keys_line *line, int argc, char **argv,
    const struct keys_verb **ret_verb)
{
	if (argc == 0)
		return usage_missing("keys", "verb", verb_at);
	const struct keys_verb *verb = find_verb(argv[0]);
	if (verb == NULL)
		return usage_unknown("keys", "verb", argv[0], verb_at);
	for (const char *given = line->given; *given != '\0'; given++)
		if (strchr("cj", *given) == NULL &&
		    strchr(verb->options, *given) == NULL)
			return wrong_option(verb, *given);
	int most = verb->takes == TAKES_TEXT ? 2 : 1;
	if (argc > most && verb->takes != TAKES_IDS)
		return usage_wrong(
		    "keys", "unexpected argument: %s", argv[most]);
	int code = KEYS_WELL;
	if (verb->takes == TAKES_TEXT)
		line->find = argv[1];
	else
		code = keys_ids_read(line, argc - 1, argv + 1);
	if (code != KEYS_WELL)
		return code;
	if (verb->takes == TAKES_IDS && line->n_ids == 0 &&
	    line->key == NULL && line->values == NULL)
		return usage_wrong("keys", "%s needs a KEY_ID", verb->name);
	*ret_verb = verb;
	return KEYS_WELL;
}

static int
run_line(
    struct keys_line *line, int argc, char **argv, const char *default_file)
{
	int next;
	const struct keys_verb *verb = NULL;
	int code = keys_line_read(line, argc, argv, &next);
	if (code != KEYS_WELL)
		return code;
	if (line->help) {
		print_keys_help(default_file,
		    next < argc ? find_verb(argv[next]) : NULL);
		return KEYS_WELL;
	}
	code = take_verb(line, argc - next, argv + next, &verb);
	if (code == KEYS_WELL)
		code = find_gateway(line);
	return code == KEYS_WELL ? verb->run(line) : code;
}

int
keys_run(int argc, char **argv, const char *default_file)
{
	struct keys_line line = {.file = default_file, .limit = 100};
	int code = run_line(&line, argc, argv, default_file);
	keys_line_clear(&line);
	if (fflush(stdout) != 0 && code == KEYS_WELL)
		code = KEYS_REFUSED;
	return code;
}
