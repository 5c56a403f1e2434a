/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/rfc3339.h"
#include "conf/amount.h"
#include "operators/commands/events.h"
#include "operators/commands/print.h"
#include "operators/commands/usage.h"
#include "operators/probe/events_query.h"

/* Pauses between tries to reach a Redis, and between looks for what is new. */
enum { RETRY_MS = 500, AGAIN_MS = 100 };

struct events_command {
	const struct command_line *line;
	const struct conf *conf;
	struct events_query *query;
	bool lost;  /* some of what was asked for */
	bool shown; /* an event */
	char *away; /* what was last said of Redis; NULL: it is there */
	sigset_t signals; /* in force while it waits */
};

static volatile sig_atomic_t interrupted;

static void
on_interrupt(int number)
{
	interrupted = number;
}

/* --- the beginning --- */

/*
 * Reads --from: a position (SHARD-MS-SEQ, or MS-SEQ), a time, how long ago
 * ("15m"), or "now"; NULL is the beginning.  *ret_since is of EVENTS_SINCE
 * alone.  False: it is none of these.
 */
static bool
read_from(
    const char *text, enum events_from *ret_from, struct event_id *ret_since)
{
	/* No shard has this number: the position counts for all of them. */
	struct event_id since = {.shard = UINT_MAX};
	int64_t ms, now_ms = clock_wall_ms();
	*ret_from = EVENTS_SINCE;
	if (text == NULL)
		*ret_from = EVENTS_ALL;
	else if (strcmp(text, "now") == 0)
		*ret_from = EVENTS_NOW;
	else if (amount_read(text, AMOUNT_DURATION, &ms))
		since.ms = ms < now_ms ? (uint64_t)(now_ms - ms) : 0;
	else if (rfc3339_read(span_str(text), &ms))
		since.ms = (uint64_t)ms;
	else if (!event_read(span_str(text), &since) &&
	    !event_read_entry(span_str(text), &since))
		return false;
	*ret_since = since;
	return true;
}

/* --- standard error --- */

static void
say_words(const char *words)
{
	fputs("onceproxy events: ", stderr);
	print_safely(stderr, words);
	putc('\n', stderr);
}

static void
say_loss(void *arg, const char *words)
{
	struct events_command *command = arg;
	command->lost = true;
	say_words(words);
}

/* Takes the message, and says it unless it was said just before. */
static void
say_away(struct events_command *command, char *message, bool again)
{
	if (command->away == NULL || strcmp(command->away, message) != 0) {
		char *words = mem_printf("Redis cannot be read: %s%s",
		    message, again ? "; trying again" : "");
		say_words(words);
		free(words);
	}
	free(command->away);
	command->away = message;
}

/* --- standard output --- */

static void
print_member(const json_t *event, const char *name, const char *behind)
{
	const char *text = json_string_value(json_object_get(event, name));
	print_safely(stdout, text != NULL ? text : "-");
	fputs(behind, stdout);
}

static void
print_event(const struct events_command *command, const json_t *event)
{
	static const char *const numbers[] = {"status", "attempt"};
	if (command->line->as_json) {
		json_dumpf(event, stdout, JSON_COMPACT);
		putchar('\n');
		return;
	}
	print_member(event, "time", " ");
	print_member(event, "from", ">");
	print_member(event, "to", "");
	for (size_t i = 0; i < 2; i++) {
		const json_t *number = json_object_get(event, numbers[i]);
		if (json_is_integer(number))
			printf(" %lld", (long long)json_integer_value(number));
		else
			fputs(" -", stdout);
	}
	putchar(' ');
	print_member(event, "key_id", " ");
	print_member(event, "id", " ");
	print_member(event, "route", " ");
	print_member(event, "label", "\n");
}

/* --- reading --- */

/* Prints all that there is now; false, with a message: Redis is away. */
static bool
print_events(struct events_command *command, char **ret_message)
{
	json_t *event;
	while (!interrupted && !ferror(stdout)) {
		if (!events_query_next(command->query, &event, ret_message))
			return false;
		if (event == NULL)
			break;
		print_event(command, event);
		command->shown = true;
		json_decref(event);
	}
	fflush(stdout);
	return true;
}

/* Waits, unless a signal comes or nobody reads our output any more. */
static void
wait_ms(const struct events_command *command, int64_t ms)
{
	struct pollfd out = {.fd = STDOUT_FILENO};
	struct timespec limit = {ms / 1000, ms % 1000 * 1000000};
	if (ppoll(&out, 1, &limit, &command->signals) > 0 &&
	    out.revents & (POLLERR | POLLNVAL))
		interrupted = SIGPIPE;
}

static bool
read_on(struct events_command *command, char **ret_message)
{
	if (!print_events(command, ret_message))
		return false;
	while (command->line->follow && !interrupted && !ferror(stdout)) {
		wait_ms(command, AGAIN_MS);
		if (!print_events(command, ret_message))
			return false;
	}
	return true;
}

/* Reads until the end; returns an exit status. */
static int
read_events(struct events_command *command)
{
	char *message = NULL;
	bool ok = events_query_connect(command->query, &message);
	/* Where none is there at first it may be the wrong address. */
	bool follow = ok && command->line->follow;
	while (!ok || !read_on(command, &message)) {
		say_away(command, message, follow);
		if (!follow)
			return GATEWAY_REFUSED;
		wait_ms(command, RETRY_MS);
		if (interrupted)
			return GATEWAY_WELL;
		ok = events_query_connect(command->query, &message);
		if (!ok)
			continue;
		say_words("Redis can be read again");
		free(command->away);
		command->away = NULL;
	}
	return GATEWAY_WELL;
}

/* --- the command --- */

static void
catch_signals(struct events_command *command)
{
	struct sigaction interrupt = {.sa_handler = on_interrupt};
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	sigset_t both;
	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	/* They come in while it waits, so that none comes just before. */
	must(sigprocmask(command->line->follow ? SIG_BLOCK : SIG_UNBLOCK,
		 &both, &command->signals) == 0);
	must(sigaction(SIGPIPE, &ignore, NULL) == 0);
	if (!command->line->follow)
		return;
	must(sigaction(SIGINT, &interrupt, NULL) == 0 &&
	    sigaction(SIGTERM, &interrupt, NULL) == 0);
}

static int
end_output(const struct events_command *command, int code)
{
	struct pollfd out = {.fd = STDOUT_FILENO};
	/* Nobody reads our output any more: that is an end like any other. */
	if (poll(&out, 1, 0) > 0 && out.revents & POLLERR) {
		__fpurge(stdout);
		return code;
	}
	if (ferror(stdout)) {
		say_words("its output cannot be written");
		return GATEWAY_REFUSED;
	}
	if (code == GATEWAY_WELL && !command->shown && !command->line->follow &&
	    !command->line->as_json)
		puts("There are no events.");
	return code == GATEWAY_WELL && command->lost ? GATEWAY_REFUSED : code;
}

int
events_run(const struct command_line *line)
{
	struct events_command command = {.line = line};
	enum events_from from;
	struct event_id since;
	int code = GATEWAY_REFUSED;
	if (!read_from(line->from, &from, &since))
		return usage_wrong("events", "--from cannot be %s; it is a "
		    "position, a time such as 2026-11-20T09:00:00Z, so long "
		    "ago as 15m, or \"now\"", line->from);
	command.conf = print_unless_valid(line->file);
	if (command.conf != NULL && command.conf->store.events_maxlen == 0) {
		char *words = mem_printf("%s: no event is written without "
		    "store.events", line->file);
		say_words(words);
		free(words);
	} else if (command.conf != NULL) {
		catch_signals(&command);
		command.query = events_query_new(command.conf, from, &since,
		    line->follow, say_loss, &command);
		code = end_output(&command, read_events(&command));
		events_query_free(&command.query);
		free(command.away);
	}
	conf_unref(&command.conf);
	return code;
}
