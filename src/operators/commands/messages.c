/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "operators/commands/messages.h"
#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/commands/values.h"
#include "operators/commands/verbs.h"

/* The command line; its names are ids, or a source. */
struct messages_line {
	struct verbs_line common;
	const char *source;
	const char *state;
	long limit;
	const char *note;
	bool unproven;
};

static struct messages_line *
line_of(struct verbs_line *common)
{
	return CONTAINER_OF(common, struct messages_line, common);
}

/* --- sources --- */

/*
 * Makes a source's members fit its line: its pause stands before its error,
 * which may last longer, and dead letters are counted up to a limit.
 */
static void
fit_line(json_t *source)
{
	const json_t *paused = json_object_get(source, "paused");
	const char *who = json_string_value(json_object_get(paused, "who"));
	const char *note = json_string_value(json_object_get(paused, "note"));
	const char *error =
	    json_string_value(json_object_get(source, "error"));
	bool noted = note != NULL && note[0] != '\0';
	if (who != NULL)
		json_object_set_new(source, "error",
		    json_sprintf("paused by %s%s%s%s%s", who,
			noted ? ": " : "", noted ? note : "",
			error != NULL ? "; " : "",
			error != NULL ? error : ""));
}

static int
list_sources(struct verbs_line *common)
{
	static const struct values_column columns[] = {
	    {"SOURCE", "name", false}, {"KIND", "kind", false},
	    {"BROKER", "broker", false}, {"STANDS", "standing", false},
	    {"LAG", "lag", false}, {"IN FLIGHT", "in_flight", false},
	    {"HELD", "held", false}, {"RETRYING", "retrying", false},
	    {"WAITING", "waiting", false}, {"PARKED", "parked", false},
	    {"DEAD", "dead", false}, {"ERROR", "error", false}};
	json_t *answer = NULL, *source;
	size_t i;
	if (admin_api_ask(&common->gateway, "GET", "/sources", NULL, &answer) !=
	    GATEWAY_WELL)
		return GATEWAY_REFUSED;
	const json_t *list = json_object_get(answer, "sources");
	if (common->as_json) {
		print_json(answer);
	} else if (json_array_size(list) == 0) {
		puts("This gateway has no sources.");
	} else {
		json_array_foreach(list, i, source)
			fit_line(source);
		values_table(list, columns, sizeof columns / sizeof *columns);
	}
	json_decref(answer);
	return GATEWAY_WELL;
}

/* --- a list of messages --- */

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
	if (!values_have(list, "label"))
		n_columns--;
	if (json_array_size(list) > 0)
		values_table(list, columns, n_columns);
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
list_messages(struct verbs_line *common)
{
	const struct messages_line *line = line_of(common);
	json_t *answer = NULL;
	char *source = admin_api_encode(line->source ? line->source : "");
	char *state = admin_api_encode(line->state ? line->state : "");
	char *target = mem_printf("/messages?%s%s%s%s",
	    line->source ? "source=" : "", source,
	    line->state ? "&state=" : "", state);
	enum admin_api_code code = admin_api_ask_list(
	    &common->gateway, target, "messages", line->limit, &answer);
	free(source);
	free(state);
	free(target);
	if (code != GATEWAY_WELL)
		return GATEWAY_REFUSED;
	if (common->as_json)
		print_json(answer);
	else
		print_messages(line, answer);
	json_decref(answer);
	return GATEWAY_WELL;
}

/* --- one message, or a source --- */

/*
 * Sends one request about the i-th name.  Its answer is printed, or where done
 * is not NULL and nobody wants JSON, that it is done.
 */
static int
ask_about(struct verbs_line *common, int i, const char *method,
    const char *folder, const char *act, json_t *in, const char *done)
{
	json_t *answer = NULL;
	char *segment = admin_api_encode(common->names[i]);
	char *target = mem_printf("/%s/%s%s", folder, segment, act);
	enum admin_api_code code =
	    admin_api_ask(&common->gateway, method, target, in, &answer);
	free(target);
	free(segment);
	if (code == GATEWAY_WELL && common->as_json)
		print_json(answer);
	else if (code == GATEWAY_WELL && done != NULL)
		printf("%s: %s\n", common->names[i], done);
	else if (code == GATEWAY_WELL)
		values_object(answer);
	json_decref(answer);
	return (int)code;
}

/* Returns NULL where the note is no UTF-8. */
static json_t *
note_json(const struct messages_line *line)
{
	return json_pack("{s:s*}", "note", line->note);
}

/* Asks about each message; one that is refused stops no other. */
static int
ask_about_each(struct verbs_line *common, const char *act, const char *done)
{
	int worst = GATEWAY_WELL;
	for (int i = 0; i < common->n_names; i++) {
		if (i > 0 && act == NULL && !common->as_json)
			putchar('\n');
		int code = act == NULL
		    ? ask_about(
			  common, i, "GET", "messages", "", NULL, NULL)
		    : ask_about(common, i, "POST", "messages", act,
			  note_json(line_of(common)), done);
		/* Of several, a refusal must say whose it is. */
		if (code != GATEWAY_WELL && common->n_names > 1)
			fprintf(stderr,
			    "onceproxy messages: that was said of %s\n",
			    common->names[i]);
		worst |= code;
	}
	return worst;
}

static int
show_messages(struct verbs_line *common)
{
	return ask_about_each(common, NULL, NULL);
}

static int
drop_messages(struct verbs_line *common)
{
	return ask_about_each(common, "/drop", "dropped");
}

static int
replay_messages(struct verbs_line *common)
{
	return ask_about_each(common, "/replay", "replayed");
}

static int
pause_source(struct verbs_line *common)
{
	return ask_about(common, 0, "POST", "sources", "/pause",
	    note_json(line_of(common)), "paused, for all gateways");
}

/* The names behind the source's. */
static json_t *
partitions_json(const struct verbs_line *common)
{
	json_t *parts = json_array();
	for (int i = 1; i < common->n_names; i++)
		json_array_append_new(parts, json_string(common->names[i]));
	return parts;
}

static int
resume_source(struct verbs_line *common)
{
	json_t *in = note_json(line_of(common));
	if (!line_of(common)->unproven)
		return ask_about(common, 0, "POST", "sources", "/resume", in,
		    "resumed, for all gateways");
	json_object_set_new(in, "unproven", partitions_json(common));
	return ask_about(common, 0, "POST", "sources", "/resume", in,
	    common->n_names > 1
		? "whoever has them goes on behind what was finished"
		: "it goes on behind what was finished");
}

static int
restore_source(struct verbs_line *common)
{
	return ask_about(common, 0, "POST", "sources", "/restore",
	    note_json(line_of(common)), "its letters are restored");
}

static int
rewind_source(struct verbs_line *common)
{
	json_t *in = note_json(line_of(common));
	if (common->n_names > 1)
		json_object_set_new(
		    in, "partitions", partitions_json(common));
	return ask_about(common, 0, "POST", "sources", "/rewind", in,
	    "whoever has them reads their logs from the beginning");
}

/* --- the command --- */

static const struct verb list[] = {
    {"sources", list_sources, "", NULL, 0, "sources",
	"the gateway's sources: why one stands still, dead letters", "sources"},
    {"list", list_messages, "Ssl", NULL, 0,
	"list [--source SOURCE] [--state STATE] [--limit N]",
	"messages of these, oldest first, of held and retrying unless said:\n"
	    "          held, retrying, waiting; of one source dead, parked",
	"list --source charges --state held"},
    {"show", show_messages, "", "an ID", -1, "show ID...",
	"one message, in whatever state",
	"show Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA"},
    {"drop", drop_messages, "N", "an ID", -1, "drop ID... [--note TEXT]",
	"it is acknowledged and not executed; its record stays",
	"drop Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA --note 'sent twice'"},
    {"replay", replay_messages, "N", "an ID", -1,
	"replay ID... [--note TEXT]",
	"a dead letter, or a held message whose record is gone, is executed\n"
	"      again, under the same key",
	"replay Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA --note 'the API is fixed'"},
    {"pause", pause_source, "N", "a SOURCE", 1,
	"pause SOURCE [--note TEXT]",
	"nothing is read or executed, on all gateways",
	"pause charges --note 'the ledger is being counted'"},
    {"resume", resume_source, "NU", "a SOURCE", -1,
	"resume SOURCE [--unproven TOPIC/PARTITION...] [--note TEXT]",
	"it goes on where it stopped; what is unproven, or of Kafka these\n"
	"      partitions, behind what was finished",
	"resume orders --unproven orders/0 --note 'the topic was restored'"},
    {"restore", restore_source, "N", "a SOURCE", 1,
	"restore SOURCE [--note TEXT]",
	"after Redis was lost: dead and parked messages are put back from the\n"
	"      copies in the broker's own place, but for those that are over",
	"restore charges --note 'Redis was lost'"},
    {"rewind", rewind_source, "N", "a SOURCE", -1,
	"rewind SOURCE [TOPIC/PARTITION...] [--note TEXT]",
	"partitions of Kafka are read from their beginning: all that are\n"
	"      unproven, or these; what has a record is not executed again",
	"rewind orders orders/0 --note 'the topic was made again'"},
};
enum { N_VERBS = sizeof list / sizeof *list };

static const char *
verb_at(size_t i)
{
	return i < N_VERBS ? list[i].name : NULL;
}

/* The states that are listed. */
static const char *
state_at(size_t i)
{
	static const char *const states[] = {
	    "held", "retrying", "waiting", "dead", "parked", NULL};
	return states[i];
}

static const struct verb_option options[] = {
    {"source", 'S', true, NULL, NULL, NULL},
    {"state", 's', true, NULL, state_at, NULL},
    {"limit", 'l', true, "a whole number from 1 to 1000000", NULL, NULL},
    {"unproven", 'U', false, NULL, NULL, NULL},
    {"note", 'N', true, NULL, NULL,
	"  --note     for the gateway's log: who decided, and why"},
};

static bool
set_option(struct verbs_line *common, char letter, char *value)
{
	struct messages_line *line = line_of(common);
	if (letter == 'S')
		line->source = value;
	else if (letter == 's')
		line->state = value;
	else if (letter == 'N')
		line->note = value;
	else if (letter == 'U')
		line->unproven = true;
	else
		return verbs_number(value, 1, 1000000, &line->limit);
	return true;
}

static int
check_line(struct verbs_line *common, const struct verb *verb)
{
	const struct messages_line *line = line_of(common);
	if (verb->run == resume_source && !line->unproven &&
	    common->n_names > 1)
		return usage_wrong("messages",
		    "resume takes one SOURCE, or --unproven TOPIC/PARTITION");
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

int
messages_run(int argc, char **argv, const char *default_file)
{
	static const struct verbs verbs = {
	    .command = "messages",
	    .summary = "Shows the sources of a running gateway and the "
		       "messages that it has\ntaken, and resolves these, "
		       "through its admin interface.\n",
	    .about = "message",
	    .list = list,
	    .count = N_VERBS,
	    .name_at = verb_at,
	    .options = options,
	    .n_options = sizeof options / sizeof *options,
	    .set = set_option,
	    .check = check_line,
	};
	struct messages_line line = {.limit = 100};
	return verbs_run(&verbs, &line.common, argc, argv, default_file);
}
