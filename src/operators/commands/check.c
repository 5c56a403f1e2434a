/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop/clock.h"
#include "base/mem.h"
#include "base/must.h"
#include "conf/address.h"
#include "conf/load/conf_load.h"
#include "conf/load/conf_restart.h"
#include "conf/review/key_changes.h"
#include "conf/review/warnings.h"
#include "operators/commands/admin_client.h"
#include "operators/commands/check.h"
#include "operators/commands/explain.h"
#include "operators/commands/print.h"

static const char http[] = "http://";
static const char https[] = "https://";

/* --- the changes of a reload --- */

/* Compares the configuration with a file's; false: that is not valid. */
static bool
compare(const struct conf *conf, const char *file,
    struct complaints *complaints)
{
	struct complaints wrong = {NULL, 0};
	const struct conf *running = conf_load(file, &wrong);
	bool valid = running != NULL;
	if (valid) {
		if (running->store.redis.cluster.count > 0)
			(void)conf_restart_finds(running, conf, complaints);
		key_changes_find(running, conf, true, complaints);
		(void)conf_restart_has_events(
		    running->store.events_maxlen > 0, conf, complaints);
		conf_restart_warn(running, conf, complaints);
	} else {
		print_complaints(stderr, file, &wrong, true);
	}
	complaints_free(&wrong);
	conf_unref(&running);
	return valid;
}

static bool
starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/*
 * --against names a gateway by a URL or as admin.listen has it, without
 * http:// where no file is so named.
 */
static bool
is_gateway(const char *against)
{
	struct address address;
	struct arena *arena = arena_new();
	bool reads = address_read(arena, against, &address) == NULL;
	arena_free(&arena);
	return starts(against, http) || starts(against, https) ||
	    starts(against, "unix:") || (reads && access(against, F_OK) != 0);
}

static void
say_untold(const char *against, const char *message)
{
	fprintf(stderr, "onceproxy check: %s: %s\n", against, message);
}

/*
 * Asks a gateway for its configuration, with the token of the one that is
 * checked; NULL, and said why: it does not tell it.
 */
static json_t *
ask_gateway(const struct conf *conf, const char *against)
{
	struct address address = {0};
	struct admin_response response;
	struct arena *arena = arena_new();
	char *message = NULL;
	/* HOST:PORT, behind which a URL may have a slash, or unix:/path. */
	bool url = starts(against, http);
	char *text = arena_str(
	    arena, span_str(url ? against + sizeof http - 1 : against));
	size_t len = strlen(text);
	if (url && len > 0 && text[len - 1] == '/')
		text[len - 1] = '\0';
	const char *wrong = starts(against, https)
	    ? "an admin interface speaks http://"
	    : address_read(arena, text, &address);
	bool came = wrong == NULL &&
	    admin_client_ask(&address, conf->admin_token, "GET",
		"/configuration", SPAN(""), &response, &message);
	arena_free(&arena);
	if (wrong != NULL)
		say_untold(against, wrong);
	else if (!came)
		fprintf(stderr, "onceproxy check: %s\n", message);
	free(message);
	if (!came)
		return NULL;
	json_t *told = json_loadb(response.body, response.len, 0, NULL);
	free(response.body);
	if (response.status == 200 &&
	    json_is_array(json_object_get(told, "routes")) &&
	    json_is_object(json_object_get(told, "store")))
		return told;
	json_decref(told);
	say_untold(against,
	    response.status == 401
		? "its admin.token is not that of this configuration"
		: "it does not tell its configuration: an admin interface of "
		  "this version does");
	return NULL;
}

/* Compares it with a gateway's; false: that cannot be compared. */
static bool
compare_running(const struct conf *conf, const char *against,
    struct complaints *complaints)
{
	struct complaints wrong = {NULL, 0};
	json_t *running = ask_gateway(conf, against);
	if (running == NULL)
		return false;
	bool valid = key_changes_told(running, conf, complaints, &wrong);
	if (valid) {
		json_t *store = json_object_get(running, "store");
		/* An older gateway does not tell. */
		bool written =
		    !json_is_false(json_object_get(store, "events"));
		(void)conf_restart_has_events(written, conf, complaints);
		conf_restart_warn_told(running, conf, complaints);
	} else {
		print_complaints(stderr, "the running gateway", &wrong, true);
	}
	complaints_free(&wrong);
	json_decref(running);
	return valid;
}

/* --- the result --- */

static void
print_result_as_json(const char *file, const struct complaints *complaints)
{
	json_t *errors = json_array();
	json_t *warnings = json_array();
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *c = &complaints->list[i];
		bool placed = c->line > 0;
		json_t *one = json_pack("{s:o*, s:o*, s:s?, s:s}", "line",
		    placed ? json_integer((json_int_t)c->line) : NULL,
		    "column",
		    placed ? json_integer((json_int_t)c->column) : NULL,
		    "pointer", c->pointer, "words", c->message);
		must(one != NULL);
		json_array_append_new(c->warning ? warnings : errors, one);
	}
	json_t *all = json_pack("{s:s, s:o, s:o}", "file", file, "errors",
	    errors, "warnings", warnings);
	must(all != NULL);
	print_json(all);
	json_decref(all);
}

/* Adds warnings; false where it cannot be compared with what was named. */
static bool
review(const struct conf *conf, const char *against,
    struct complaints *complaints)
{
	bool valid = true;
	warnings_find(conf, clock_wall_ms(), complaints);
	if (against != NULL)
		valid = is_gateway(against)
		    ? compare_running(conf, against, complaints)
		    : compare(conf, against, complaints);
	conf_load_place(conf, complaints);
	complaints_sort(complaints);
	return valid;
}

int
check_run(const struct command_line *line)
{
	struct complaints complaints = {NULL, 0};
	const struct conf *conf = conf_load(line->file, &complaints);
	bool valid =
	    conf != NULL && review(conf, line->against, &complaints);
	for (size_t i = 0; i < complaints.count; i++)
		valid = valid &&
		    complaints.list[i].warning && !line->strict;
	if (valid && line->explain && line->as_json) {
		explain_json(conf);
	} else if (line->as_json) {
		print_result_as_json(line->file, &complaints);
	} else {
		print_complaints(stdout, line->file, &complaints, true);
		if (valid)
			printf("%s: ok\n", line->file);
	}
	if (valid && line->explain && !line->as_json)
		explain_text(conf);
	complaints_free(&complaints);
	conf_unref(&conf);
	return valid ? 0 : 1;
}
