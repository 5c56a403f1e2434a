/* SPDX-License-Identifier: BSD-2-Clause */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/mem.h"
#include "operators/commands/gateway.h"
#include "operators/commands/messages.h"
#include "operators/commands/messages_sources.h"
#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/commands/values.h"

enum { LIMIT_MAX = 1000000 };

/* What the command line says. */
struct messages_line {
	struct gateway gateway;
	bool help;
	bool as_json;
	const char *source;
	const char *state;
	long limit;
	const char *note;
	char **names; /* behind the verb: ids, or a source */
	int n_names;
	char given[16]; /* the letters of the options that are there */
};

static int list_sources(struct messages_line *line);
static int list_messages(struct messages_line *line);
static int show_messages(struct messages_line *line);
static int drop_messages(struct messages_line *line);
static int replay_messages(struct messages_line *line);
static int pause_source(struct messages_line *line);
static int resume_source(struct messages_line *line);
static int rewind_source(struct messages_line *line);

static const struct messages_verb {
	const char *name;
	int (*run)(struct messages_line *line);
	const char *options; /* letters, besides -c, --json and --help */
	const char *takes;   /* what must stand behind it; NULL: nothing */
	bool several;
	const char *usage;
	const char *message;
	const char *example;
} verbs[] = {
    {"sources", list_sources, "", NULL, false, "sources",
	"the gateway's sources: why one stands still, dead letters", "sources"},
    {"list", list_messages, "Ssl", NULL, false,
	"list [--source SOURCE] [--state STATE] [--limit N]",
	"messages of these, oldest first, of held and retrying unless said:\n"
	    "          held, retrying, waiting; of one source dead, parked",
	"list --source charges --state held"},
    {"show", show_messages, "", "an ID", true, "show ID...",
	"one message, in whatever state",
	"show Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA"},
    {"drop", drop_messages, "N", "an ID", true, "drop ID... [--note TEXT]",
	"it is acknowledged and not executed; its record stays",
	"drop Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA --note 'sent twice'"},
    {"replay", replay_messages, "N", "an ID", true,
	"replay ID... [--note TEXT]",
	"a dead letter, or a held message whose record is gone, is executed\n"
	"      again, under the same key",
	"replay Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA --note 'the API is fixed'"},
    {"pause", pause_source, "N", "a SOURCE", false,
	"pause SOURCE [--note TEXT]",
	"nothing is read or executed, on all gateways",
	"pause charges --note 'the ledger is being counted'"},
    {"resume", resume_source, "N", "a SOURCE", false,
	"resume SOURCE [--note TEXT]", "it goes on where it stopped",
	"resume charges"},
    {"rewind", rewind_source, "N", "a SOURCE", true,
	"rewind SOURCE [TOPIC/PARTITION...] [--note TEXT]",
	"its group of Kafka may be set back within a day",
	"rewind orders orders/0 --note 'one result was lost'"},
};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"help", no_argument, NULL, 'h'},
    {"json", no_argument, NULL, 'j'},
    {"source", required_argument, NULL, 'S'},
    {"state", required_argument, NULL, 's'},
    {"limit", required_argument, NULL, 'l'},
    {"note", required_argument, NULL, 'N'},
    {NULL, 0, NULL, 0},
};

/* --- what the verbs do --- */

static void
print_answer(const struct messages_line *line, json_t *answer)
{
	if (line->as_json)
		print_json(answer);
	else
		values_object(answer);
}

/* One request; its answer is printed where print is true. */
static int
ask_about(struct messages_line *line, const char *method, const char *folder,
    const char *name, const char *act, json_t *in, bool print)
{
	json_t *answer = NULL;
	char *segment = gateway_encode(name);
	char *target = mem_printf("/%s/%s%s", folder, segment, act);
	enum gateway_code code =
	    gateway_ask(&line->gateway, method, target, in, &answer);
	free(target);
	free(segment);
	if (code == GATEWAY_WELL && print)
		print_answer(line, answer);
	json_decref(answer);
	return (int)code;
}

/* NULL: the note is no UTF-8. */
static json_t *
note_json(const struct messages_line *line)
{
	return json_pack("{s:s*}", "note", line->note);
}

static int
list_sources(struct messages_line *line)
{
	json_t *answer = NULL;
	if (gateway_ask(&line->gateway, "GET", "/sources", NULL, &answer) !=
	    GATEWAY_WELL)
		return GATEWAY_REFUSED;
	const json_t *list = json_object_get(answer, "sources");
	if (line->as_json)
		print_json(answer);
	else if (json_array_size(list) == 0)
		puts("This gateway has no sources.");
	else
		messages_sources_print(list);
	json_decref(answer);
	return GATEWAY_WELL;
}

static char *
list_target(const struct messages_line *line)
{
	char *source = gateway_encode(line->source ? line->source : "");
	char *state = gateway_encode(line->state ? line->state : "");
	char *target = mem_printf("/messages?%s%s%s%s",
	    line->source ? "source=" : "", source,
	    line->state ? "&state=" : "", state);
	free(source);
	free(state);
	return target;
}

static bool
has_labels(const json_t *messages)
{
	const json_t *message;
	size_t i;
	json_array_foreach(messages, i, message)
		if (json_object_get(message, "label") != NULL)
			return true;
	return false;
}

static void
print_messages(const struct messages_line *line, const json_t *answer)
{
	static const struct values_column columns[] = {
	    {"ID", "id", false}, {"SOURCE", "source", false},
	    {"STATE", "state", false}, {"REASON", "reason", false},
	    {"ATTEMPT", "attempt", false}, {"TAKEN", "first", true},
	    {"NEXT TRY", "next_try", true}, {"KEY_ID", "key_id", false},
	    {"LABEL", "label", false}};
	const json_t *list = json_object_get(answer, "messages");
	size_t n_columns = sizeof columns / sizeof *columns;
	if (json_array_size(list) > 0)
		values_table(list, columns, n_columns - !has_labels(list));
	else
		printf("No message is %s.%s\n",
		    line->state ? line->state : "held or retrying",
		    line->state ? ""
				: " (--source SOURCE --state dead lists dead "
				  "letters.)");
	if (json_is_string(json_object_get(answer, "next")))
		printf("There are more; --limit %ld shows twice as many.\n",
		    2 * line->limit);
}

static int
list_messages(struct messages_line *line)
{
	json_t *answer = NULL;
	char *target = list_target(line);
	enum gateway_code code = gateway_ask_list(
	    &line->gateway, target, "messages", line->limit, &answer);
	free(target);
	if (code != GATEWAY_WELL)
		return GATEWAY_REFUSED;
	if (line->as_json)
		print_json(answer);
	else
		print_messages(line, answer);
	json_decref(answer);
	return GATEWAY_WELL;
}

/* Of several, whoever reads a refusal must know whose it is. */
static int
say_whose(const struct messages_line *line, int name, int code)
{
	if (code != GATEWAY_WELL && line->n_names > 1)
		fprintf(stderr, "onceproxy messages: that was said of %s\n",
		    line->names[name]);
	return code;
}

static int
show_messages(struct messages_line *line)
{
	int worst = GATEWAY_WELL;
	for (int i = 0; i < line->n_names; i++) {
		if (i > 0 && !line->as_json)
			putchar('\n');
		worst |= say_whose(line, i,
		    ask_about(line, "GET", "messages", line->names[i], "",
			NULL, true));
	}
	return worst;
}

/* One that is refused keeps it from none of the others. */
static int
order_messages(struct messages_line *line, const char *act, const char *done)
{
	int worst = GATEWAY_WELL;
	for (int i = 0; i < line->n_names; i++) {
		int code = ask_about(line, "POST", "messages", line->names[i],
		    act, note_json(line), line->as_json);
		if (code == GATEWAY_WELL && !line->as_json)
			printf("%s: %s\n", line->names[i], done);
		worst |= say_whose(line, i, code);
	}
	return worst;
}

static int
drop_messages(struct messages_line *line)
{
	return order_messages(line, "/drop", "dropped");
}

static int
replay_messages(struct messages_line *line)
{
	return order_messages(line, "/replay", "replayed");
}

static int
order_source(struct messages_line *line, const char *act, const char *done)
{
	int code = ask_about(line, "POST", "sources", line->names[0], act,
	    note_json(line), line->as_json);
	if (code == GATEWAY_WELL && !line->as_json)
		printf("%s: %s\n", line->names[0], done);
	return code;
}

static int
pause_source(struct messages_line *line)
{
	return order_source(line, "/pause", "paused, for all gateways");
}

static int
resume_source(struct messages_line *line)
{
	return order_source(line, "/resume", "resumed, for all gateways");
}

static int
rewind_source(struct messages_line *line)
{
	json_t *in = note_json(line), *parts = json_array();
	for (int i = 1; i < line->n_names; i++)
		json_array_append_new(parts, json_string(line->names[i]));
	if (line->n_names > 1)
		json_object_set(in, "partitions", parts);
	json_decref(parts);
	int code = ask_about(line, "POST", "sources", line->names[0],
	    "/rewind", in, line->as_json);
	if (code == GATEWAY_WELL && !line->as_json)
		printf("%s: its group may be set back, within a day\n",
		    line->names[0]);
	return code;
}

/* --- the command line --- */

/* verb: which one is asked about; NULL: all. */
static void
print_usage(const char *default_file, const struct messages_verb *verb)
{
	const struct messages_verb *first = verb != NULL ? verb : verbs;
	int count = verb != NULL ? 1 : N_VERBS;
	puts("usage: onceproxy messages VERB [options]\n\n"
	     "Shows the sources of a running gateway and the messages that it "
	     "has\ntaken, and resolves these, through its admin interface.\n");
	for (int i = 0; i < count; i++)
		printf("    %s\n", first[i].usage);
	putchar('\n');
	for (int i = 0; i < count; i++)
		printf("%-9s %s\n", first[i].name, first[i].message);
	printf("\noptions:\n"
	       "  -c FILE    the configuration, which says where the gateway "
	       "is\n             (%s)\n"
	       "  --json     print JSON instead of text\n"
	       "  --help     print this\n", default_file);
	if (verb == NULL || strchr(verb->options, 'N') != NULL)
		puts("  --note     for the gateway's log: who decided, and "
		     "why");
	puts("\nexample:");
	for (int i = 0; i < count; i++)
		printf("  onceproxy messages %s\n", first[i].example);
	if (verb == NULL)
		puts("\nexit status: 0 success, 1 refused or no such message, "
		     "2 wrong usage");
}

/* The states that are listed. */
static const char *
state_at(size_t i)
{
	static const char *const states[] = {
	    "held", "retrying", "waiting", "dead", "parked", NULL};
	return states[i];
}

/* False where the value is none of that option's. */
static bool
set_option(struct messages_line *line, int option)
{
	int64_t number;
	if (option == 'c')
		line->gateway.file = optarg;
	else if (option == 'h')
		line->help = true;
	else if (option == 'j')
		line->as_json = true;
	else if (option == 'S')
		line->source = optarg;
	else if (option == 's')
		line->state = optarg;
	else if (option == 'N')
		line->note = optarg;
	else if (!digits_read(span_str(optarg), LIMIT_MAX, &number) ||
	    number < 1)
		return false;
	else
		line->limit = (long)number;
	return option != 's' || usage_is_word(optarg, state_at);
}

static const char *
option_name(int letter)
{
	const struct option *o = options;
	while (o->val != letter)
		o++;
	return o->name;
}

static int
wrong_option_value(int letter)
{
	const char *name = option_name(letter);
	return letter == 's'
	    ? usage_unknown_word("messages", name, optarg, state_at)
	    : usage_wrong("messages",
		  "--%s cannot be %s; it is a whole number from 1 to %d", name,
		  optarg, LIMIT_MAX);
}

static int
read_options(struct messages_line *line, int argc, char **argv)
{
	size_t n_given = 0;
	int o;
	opterr = 0;
	optind = 0;
	while ((o = getopt_long(argc, argv, ":c:h", options, NULL)) != -1) {
		if (o == ':')
			return usage_wrong(
			    "messages", "%s needs a value", argv[optind - 1]);
		if (o == '?')
			return usage_unknown_option(
			    "messages", argv[optind - 1], options, NULL);
		if (!set_option(line, o))
			return wrong_option_value(o);
		if (n_given < sizeof line->given - 1 &&
		    strchr(line->given, o) == NULL)
			line->given[n_given++] = (char)o;
	}
	return GATEWAY_WELL;
}

static const char *
verb_at(size_t i)
{
	return i < N_VERBS ? verbs[i].name : NULL;
}

static const struct messages_verb *
verb_of(const char *name)
{
	for (int i = 0; i < N_VERBS && name != NULL; i++)
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	return NULL;
}

/* Whether the verb takes what the line has. */
static int
check_verb(
    const struct messages_line *line, const struct messages_verb *verb)
{
	for (const char *given = line->given; *given != '\0'; given++)
		if (strchr("cj", *given) == NULL &&
		    strchr(verb->options, *given) == NULL)
			return usage_wrong(
			    "messages", "%s does not take --%s", verb->name,
			    option_name(*given));
	if (verb->takes != NULL && line->n_names == 0)
		return usage_wrong(
		    "messages", "%s needs %s", verb->name, verb->takes);
	int most = verb->takes == NULL ? 0 : 1;
	if (line->n_names > most && !verb->several)
		return usage_wrong(
		    "messages", "unexpected argument: %s", line->names[most]);
	if (line->state != NULL && line->source == NULL &&
	    (!strcmp(line->state, "dead") || !strcmp(line->state, "parked")))
		return usage_wrong("messages",
		    "--state %s needs --source SOURCE", line->state);
	json_t *note = note_json(line);
	if (note == NULL)
		return usage_wrong("messages", "--note must be UTF-8");
	json_decref(note);
	return GATEWAY_WELL;
}

static int
run_line(struct messages_line *line, int argc, char **argv,
    const char *default_file)
{
	int code = read_options(line, argc, argv);
	if (code != GATEWAY_WELL)
		return code;
	const char *name = optind < argc ? argv[optind] : NULL;
	const struct messages_verb *verb = verb_of(name);
	if (line->help) {
		print_usage(default_file, verb);
		return GATEWAY_WELL;
	}
	if (name == NULL)
		return usage_missing("messages", "verb", verb_at);
	if (verb == NULL)
		return usage_unknown("messages", "verb", name, verb_at);
	line->names = argv + optind + 1;
	line->n_names = argc - optind - 1;
	code = check_verb(line, verb);
	if (code == GATEWAY_WELL)
		code = (int)gateway_find(&line->gateway);
	return code == GATEWAY_WELL ? verb->run(line) : code;
}

int
messages_run(int argc, char **argv, const char *default_file)
{
	struct messages_line line = {
	    .gateway = {"messages", default_file, NULL}, .limit = 100};
	int code = run_line(&line, argc, argv, default_file);
	conf_unref(&line.gateway.conf);
	if (fflush(stdout) != 0 && code == GATEWAY_WELL)
		code = GATEWAY_REFUSED;
	return code;
}
