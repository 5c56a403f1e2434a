/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "cmd/keys.h"
#include "cmd/keys_line_private.h"
#include "conf/conf_load.h"

static const struct verb {
	const char *name;
	int (*run)(struct line *line);
	const char *options; /* letters of those that it takes */
	bool takes_id;
	const char *usage;
	const char *message;
	const char *example;
} verbs[] = {
    {"list", keys_list, "sl", false, "list [--state STATE] [--limit N]",
	"those that are PROCESSING, UNKNOWN or FAILED, oldest first",
	"list --state UNKNOWN"},
    {"show", keys_show, "bknS", true,
	"show KEY_ID [--body]\n"
	"    show --key KEY [--namespace N] [--scope 'Header: value']... "
	"[--body]",
	"one record, by its KEY_ID or by the client's key; with --body what\n"
	"          is stored",
	"show --key order-17 --scope 'Authorization: Bearer sk_live_1'"},
    {"release", keys_release, "N", true, "release KEY_ID [--note TEXT]",
	"it did not happen: the key is free, and its next retry executes",
	"release 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --note 'not in the ledger'"},
    {"complete", keys_complete, "tHfN", true,
	"complete KEY_ID --status N [--header 'Name: value']...\n"
	"        [--body-file FILE] [--note TEXT]",
	"it happened: this is what every retry is given; FILE may be -",
	"complete 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --status 201 \\\n"
	"      --header 'Content-Type: application/json' --body-file a.json"},
    {"delete", keys_delete, "N", true, "delete KEY_ID [--note TEXT]",
	"the record is forgotten; the key can execute again",
	"delete 3f0e8a6c0d5b4a71b1f2c3d4e5f60718 --note 'a test'"},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {"json", no_argument, NULL, 'j'},
    {"state", required_argument, NULL, 's'},
    {"limit", required_argument, NULL, 'l'},
    {"key", required_argument, NULL, 'k'},
    {"namespace", required_argument, NULL, 'n'},
    {"scope", required_argument, NULL, 'S'},
    {"body", no_argument, NULL, 'b'},
    {"status", required_argument, NULL, 't'},
    {"header", required_argument, NULL, 'H'},
    {"body-file", required_argument, NULL, 'f'},
    {"note", required_argument, NULL, 'N'},
    {NULL, 0, NULL, 0},
};

/* --- words --- */

int
keys_usage(const char *fmt, ...)
{
	va_list args;
	fputs("onceproxy keys: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs("\nTry 'onceproxy keys --help'.\n", stderr);
	return WRONG_USAGE;
}

static void
print_verb(const struct verb *verb)
{
	printf("%-9s %s\n", verb->name, verb->message);
}

/* verb: which one is asked about; NULL: all. */
static void
print_help(const char *default_file, const struct verb *verb)
{
	const struct verb *first = verb != NULL ? verb : verbs;
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
	       "  --json     JSON instead of text\n"
	       "  --help     print this\n",
	    default_file);
	if (verb == NULL || strchr(verb->options, 'N') != NULL)
		puts("  --note     for the gateway's log: who decided, and "
		     "why");
	puts("\nexample:");
	for (int i = 0; i < count; i++)
		printf("  onceproxy keys %s\n", first[i].example);
	if (verb == NULL)
		puts("\nexit status: 0 well, 1 refused or no such record, 2 "
		     "wrong usage");
}

/* --- the configuration --- */

static int
complain_all(const char *file, struct complaints *complaints)
{
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *c = &complaints->list[i];
		fprintf(stderr, "%s: %s%s%s\n", file,
		    c->pointer ? c->pointer : "", c->pointer ? ": " : "",
		    c->message);
	}
	complaints_free(complaints);
	return REFUSED;
}

/* The admin interface's address and token are in the configuration. */
static int
load(struct line *line)
{
	struct complaints complaints = {0};
	line->conf = conf_load(line->file, &complaints);
	if (line->conf == NULL)
		return complain_all(line->file, &complaints);
	const struct address *admin = &line->conf->admin;
	const char *message = NULL;
	if (admin->text == NULL)
		message = "there is no admin.listen, so the gateway cannot be "
			"asked";
	else if (admin->kind == ADDRESS_TCP && admin->port == 0)
		message = "admin.listen has port 0, so nobody knows where the "
			"gateway is";
	if (message == NULL)
		return WELL;
	fprintf(stderr, "onceproxy keys: %s: %s\n", line->file, message);
	return REFUSED;
}

/* --- the command line --- */

/* Cuts "Name: value" at its colon; false where that is not UTF-8 with one. */
static bool
take_field(const char *text, json_t **ret_name, json_t **ret_value)
{
	const char *colon = strchr(text, ':');
	if (colon == NULL || colon == text)
		return false;
	struct span value = span_trim(span_str(colon + 1));
	*ret_name = json_stringn(text, (size_t)(colon - text));
	*ret_value = json_stringn(value.ptr, value.len);
	if (*ret_name != NULL && *ret_value != NULL)
		return true;
	json_decref(*ret_name);
	json_decref(*ret_value);
	return false;
}

static bool
take_header(struct line *line, const char *text)
{
	json_t *name, *value;
	if (!take_field(text, &name, &value))
		return false;
	if (line->headers == NULL)
		line->headers = json_array();
	json_array_append_new(
	    line->headers, json_pack("[o, o]", name, value));
	return true;
}

static bool
take_scope(struct line *line, const char *text)
{
	json_t *name, *value;
	if (!take_field(text, &name, &value))
		return false;
	if (line->scope == NULL)
		line->scope = json_object();
	json_object_set_new(line->scope, json_string_value(name), value);
	json_decref(name);
	return true;
}

static bool
take_number(const char *text, long least, long most, long *ret_number)
{
	char *end;
	errno = 0;
	long number = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || number < least ||
	    number > most)
		return false;
	*ret_number = number;
	return true;
}

/* False where the value is none of that option's. */
static bool
take_option(struct line *line, int option)
{
	switch (option) {
	case 'c':
		line->file = optarg;
		return true;
	case 'j':
		line->as_json = true;
		return true;
	case 's':
		for (char *c = optarg; *c != '\0'; c++)
			*c = (char)toupper((unsigned char)*c);
		line->state = optarg;
		return strspn(optarg, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") ==
		    strlen(optarg);
	case 'l':
		return take_number(optarg, 1, 1000000, &line->limit);
	case 'k':
		line->key = optarg;
		return true;
	case 'n':
		line->namespace = optarg;
		return true;
	case 'S':
		return take_scope(line, optarg);
	case 'b':
		line->with_body = true;
		return true;
	case 't':
		return take_number(optarg, 200, 599, &line->status);
	case 'H':
		return take_header(line, optarg);
	case 'f':
		line->body_file = optarg;
		return true;
	default:
		line->note = optarg;
		return true;
	}
}

static const char *
option_name(int letter)
{
	for (const struct option *o = options; o->name != NULL; o++)
		if (o->val == letter)
			return o->name;
	return "";
}

static const struct verb *
find_verb(const char *name)
{
	for (int i = 0; i < N_VERBS; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* The words behind the options: the verb and any KEY_ID. */
static int
take_message(struct line *line, int argc, char **argv, const char *given,
    const struct verb **ret_verb)
{
	uint8_t bytes[DIGEST_BYTES];
	if (argc == 0)
		return keys_usage("what is to be done?");
	const struct verb *verb = find_verb(argv[0]);
	if (verb == NULL)
		return keys_usage("no such verb: %s", argv[0]);
	for (; *given != '\0'; given++)
		if (strchr("cj", *given) == NULL &&
		    strchr(verb->options, *given) == NULL)
			return keys_usage("%s does not take --%s", verb->name,
			    option_name(*given));
	int most = verb->takes_id ? 2 : 1;
	if (argc > most)
		return keys_usage("unexpected: %s", argv[most]);
	line->key_id = argc > 1 ? argv[1] : NULL;
	if (line->key_id != NULL &&
	    !hex_decode(span_str(line->key_id), bytes, sizeof bytes))
		return keys_usage("a KEY_ID has %d hex digits", DIGEST_HEX);
	if (verb->takes_id && line->key_id == NULL && line->key == NULL)
		return keys_usage("%s needs a KEY_ID", verb->name);
	*ret_verb = verb;
	return WELL;
}

static int
run(struct line *line, int argc, char **argv, const char *default_file)
{
	char given[64] = "";
	size_t n_given = 0;
	bool help = false;
	int o;
	opterr = 0;
	optind = 0;
	while ((o = getopt_long(argc, argv, ":c:h", options, NULL)) != -1) {
		if (o == 'h') {
			help = true;
			continue;
		}
		if (o == ':')
			return keys_usage(
			    "%s needs a value", argv[optind - 1]);
		if (o == '?')
			return keys_usage(
			    "no such option: %s", argv[optind - 1]);
		if (!take_option(line, o))
			return keys_usage(
			    "--%s cannot be %s", option_name(o), optarg);
		if (n_given < sizeof given - 1 &&
		    strchr(given, o) == NULL)
			given[n_given++] = (char)o;
	}
	const struct verb *verb = NULL;
	if (help) {
		if (optind < argc)
			verb = find_verb(argv[optind]);
		print_help(default_file, verb);
		return WELL;
	}
	int code =
	    take_message(line, argc - optind, argv + optind, given, &verb);
	if (code == WELL)
		code = load(line);
	return code == WELL ? verb->run(line) : code;
}

int
cmd_keys(int argc, char **argv, const char *default_file)
{
	struct line line = {.file = default_file, .limit = 100};
	int code = run(&line, argc, argv, default_file);
	json_decref(line.scope);
	json_decref(line.headers);
	conf_unref(&line.conf);
	if (fflush(stdout) != 0 && code == WELL)
		code = REFUSED;
	return code;
}
