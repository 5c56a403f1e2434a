/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"

/*
 * For the tests of conf/: configurations with single quotes in place of double
 * ones, so that they are readable in C.  A test file includes it once.
 */

/* Turns text with single quotes into JSON; the caller frees it. */
static inline char *
try_json(const char *text)
{
	char *json = mem_str(span_str(text));
	for (char *p = json; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	return json;
}

/*
 * All complaints, one per line, with the place of those that have no pointer.
 */
static inline char *
try_lines(const struct complaints *complaints)
{
	char *lines = mem_str(SPAN(""));
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *c = &complaints->list[i];
		assert_true(c->line > 0 && c->column > 0);
		char *more = c->pointer != NULL
		    ? mem_printf(
			  "%s%s: %s\n", lines, c->pointer, c->message)
		    : mem_printf("%s%zu:%zu: %s\n", lines, c->line,
			  c->column, c->message);
		free(lines);
		lines = more;
	}
	return lines;
}

/*
 * What is wrong with a configuration, one complaint per line; the caller frees
 * it.
 */
static inline char *
try_wrong(const char *text)
{
	struct complaints complaints = {NULL, 0};
	char *json = try_json(text);
	const struct conf *conf =
	    conf_load_text("test", span_str(json), false, &complaints);
	char *lines = try_lines(&complaints);
	assert_int_equal(conf != NULL, complaints.count == 0);
	conf_unref(&conf);
	complaints_free(&complaints);
	free(json);
	return lines;
}

/* A configuration with nothing wrong. */
static inline const struct conf *
try_conf(const char *text)
{
	struct complaints complaints = {NULL, 0};
	char *json = try_json(text);
	const struct conf *conf =
	    conf_load_text("test", span_str(json), false, &complaints);
	char *lines = try_lines(&complaints);
	assert_string_equal(lines, "");
	assert_non_null(conf);
	free(lines);
	free(json);
	return conf;
}

/*
 * Asserts for each configuration all that is wrong with it, one complaint per
 * line.
 */
struct wrong {
	const char *text;
	const char *lines;
};

static inline void
assert_all_wrong(const struct wrong *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *lines = try_wrong(list[i].text);
		if (strcmp(lines, list[i].lines) != 0)
			print_error("in %s\n", list[i].text);
		assert_string_equal(lines, list[i].lines);
		free(lines);
	}
}

#define ASSERT_ALL_WRONG(list) \
	assert_all_wrong(list, sizeof(list) / sizeof(list)[0])

#define TRY_LISTEN "'listen':['127.0.0.1:8080']"
#define TRY_UPSTREAMS "'upstreams':{'u':'http://127.0.0.1:9000'}"

/* A whole file around members of it. */
#define TRY_FILE(members) \
	"{" TRY_LISTEN "," TRY_UPSTREAMS ",'routes':[]," members "}"
/* Around members of the store. */
#define TRY_STORE(members) TRY_FILE("'store':{" members "}")
/* Around the value of the only upstream. */
#define TRY_UPSTREAM(value) \
	"{" TRY_LISTEN ",'upstreams':{'u':" value "},'routes':[]}"
/* Around members of the only route. */
#define TRY_ROUTE(members) \
	"{" TRY_LISTEN "," TRY_UPSTREAMS ",'routes':[{'upstream':'u'," \
	members "}]}"
/* Around members of the idempotency of the only route. */
#define TRY_POLICY(members) \
	TRY_ROUTE("'path':'/','idempotency':{" members "}")
