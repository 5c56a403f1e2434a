/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/commands/messages.h"
#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/commands/values.h"

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
list_sources(const struct command_line *line)
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
	if (admin_api_ask(&line->gateway, "GET", "/sources", NULL, &answer) !=
	    GATEWAY_WELL)
		return GATEWAY_REFUSED;
	const json_t *list = json_object_get(answer, "sources");
	if (line->as_json) {
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
print_messages(const struct command_line *line, const json_t *answer)
{
	static const struct values_column columns[] = {
	    {"ID", "id", false}, {"SOURCE", "source", false},
	    {"STATE", "state", false}, {"REASON", "reason", false},
	    {"ATTEMPT", "attempt", false}, {"TAKEN", "first", true},
	    {"NEXT TRY", "next_try", true}, {"KEY_ID", "key_id", false},
	    {"LABEL", "label", false}};
	const json_t *list = json_object_get(answer, "messages");
	if (json_array_size(list) > 0)
		values_table(list, columns, sizeof columns / sizeof *columns);
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
list_messages(const struct command_line *line)
{
	json_t *answer = NULL;
	char *target = mem_str(SPAN("/messages?"));
	target = admin_api_with(target, "source", line->source);
	target = admin_api_with(target, "state", line->state);
	enum admin_api_code code = admin_api_ask_list(
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

/* --- messages, or a source --- */

static int
show_messages(const struct command_line *line)
{
	static const struct values_request request = {
	    "GET", "messages", "", NULL, NULL, values_object, NULL};
	return values_ask(line, (const char *const *)line->names,
	    (size_t)line->n_names, &request);
}

static int
act_on_messages(const struct command_line *line)
{
	const char *act = line->verb->name;
	char *behind = mem_printf("/%s", act);
	const struct values_request request = {"POST", "messages", behind,
	    json_pack("{s:s*}", "note", line->note),
	    !strcmp(act, "drop") ? "dropped" : "replayed", NULL, NULL};
	int code = values_ask(line, (const char *const *)line->names,
	    (size_t)line->n_names, &request);
	free(behind);
	return code;
}

/* The names behind the source's are partitions, which a member has. */
static int
act_on_source(const struct command_line *line)
{
	const char *act = line->verb->name, *member = NULL;
	const char *done = "resumed, for all gateways";
	bool some = line->n_names > 1;
	if (!strcmp(act, "pause")) {
		done = "paused, for all gateways";
	} else if (!strcmp(act, "restore")) {
		done = "its letters are restored";
	} else if (!strcmp(act, "rewind")) {
		member = some ? "partitions" : NULL;
		done = "whoever has them reads their logs from the beginning";
	} else if (line->unproven) {
		member = "unproven";
		done = some ? "whoever has them goes on behind what was "
			      "finished"
			    : "it goes on behind what was finished";
	}
	char *behind = mem_printf("/%s", act);
	const struct values_request request = {"POST", "sources", behind,
	    json_pack("{s:s*}", "note", line->note), done, NULL, NULL};
	json_t *partitions = json_array();
	for (int i = 1; i < line->n_names; i++)
		json_array_append_new(
		    partitions, json_string(line->names[i]));
	if (member != NULL)
		json_object_set(request.in, member, partitions);
	int code = values_ask(
	    line, (const char *const *)line->names, 1, &request);
	json_decref(partitions);
	free(behind);
	return code;
}

/* --- the command --- */

static const struct verb verbs[] = {
    {"sources", list_sources, "j", NULL, 0, "sources",
	"the gateway's sources: why one stands still, dead letters", "sources"},
    {"list", list_messages, "jBsl", NULL, 0,
	"list [--source SOURCE] [--state STATE] [--limit N]",
	"messages of these, oldest first, of held and retrying unless said:\n"
	    "          held, retrying, waiting; of one source dead, parked;\n"
	    "          NEXT TRY of a held one is when its hold is over",
	"list --source charges --state held"},
    {"show", show_messages, "j", "an ID", -1, "show ID...",
	"one message, in whatever state",
	"show Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA"},
    {"drop", act_on_messages, "jN", "an ID", -1, "drop ID... [--note TEXT]",
	"it is acknowledged and not executed; its record stays",
	"drop Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA --note 'sent twice'"},
    {"replay", act_on_messages, "jN", "an ID", -1,
	"replay ID... [--note TEXT]",
	"a dead letter, or a held message whose record is gone, is executed\n"
	"      again, under the same key",
	"replay Y2hhcmdlcwAxNzE4MDAwMDAwMDAwLTA --note 'the API is fixed'"},
    {"pause", act_on_source, "jN", "a SOURCE", 1,
	"pause SOURCE [--note TEXT]",
	"nothing is read or executed, on all gateways",
	"pause charges --note 'the ledger is being counted'"},
    {"resume", act_on_source, "jNU", "a SOURCE", -1,
	"resume SOURCE [--unproven TOPIC/PARTITION...] [--note TEXT]",
	"it goes on where it stopped; what is unproven, or of Kafka these\n"
	"      partitions, behind what was finished",
	"resume orders --unproven orders/0 --note 'the topic was restored'"},
    {"restore", act_on_source, "jN", "a SOURCE", 1,
	"restore SOURCE [--note TEXT]",
	"after Redis was lost: dead and parked messages are put back from the\n"
	"      copies in the broker's own place, but for those that are over",
	"restore charges --note 'Redis was lost'"},
    {"rewind", act_on_source, "jN", "a SOURCE", -1,
	"rewind SOURCE [TOPIC/PARTITION...] [--note TEXT]",
	"partitions of Kafka are read from their beginning: all that are\n"
	"      unproven, or these; what has a record is not executed again",
	"rewind orders orders/0 --note 'the topic was made again'"},
};

/* The states that are listed. */
static const char *const states[] = {
    "held", "retrying", "waiting", "dead", "parked", NULL};

static int
check_line(struct command_line *line)
{
	if (!strcmp(line->verb->name, "resume") && !line->unproven &&
	    line->n_names > 1)
		return usage_wrong("messages",
		    "resume takes one SOURCE, or --unproven TOPIC/PARTITION");
	if (line->state != NULL && line->source == NULL &&
	    (!strcmp(line->state, "dead") || !strcmp(line->state, "parked")))
		return usage_wrong("messages",
		    "--state %s needs --source SOURCE", line->state);
	return GATEWAY_WELL;
}

const struct command messages_command = {
    .name = "messages",
    .summary = "show sources and resolve messages of a running gateway",
    .verbs = verbs,
    .count = sizeof verbs / sizeof *verbs,
    .about = "Shows the sources of a running gateway and the messages that it "
	     "has\ntaken, and resolves these, through its admin interface.\n",
    .kind = "message",
    .states = states,
    .check = check_line,
};
