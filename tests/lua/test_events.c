/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/steps.h"

/*
 * Events: each change of a record's state is written by the step that makes it,
 * exactly once, and nothing else is.
 */

enum { STORY_MAX = 1024 };

static int
start(void **state)
{
	telling = true;
	return start_redis(state);
}

/* --- what was told --- */

static const char *
value_of(const redisReply *fields, const char *name)
{
	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (strcmp(fields->element[i]->str, name) == 0)
			return fields->element[i + 1]->str;
	return "";
}

/* "FROM>TO ATTEMPT[ STATUS]" of each entry, with ", " between them. */
static void
read_story(const char *stream, char story[STORY_MAX])
{
	redisReply *entries = redis_do(redis, "XRANGE %s - +", stream);
	size_t len = 0;
	story[0] = '\0';
	for (size_t i = 0; i < entries->elements; i++) {
		const redisReply *fields = entries->element[i]->element[1];
		const char *status = value_of(fields, "status");
		assert_string_equal(value_of(fields, "id"), ID);
		assert_string_equal(value_of(fields, "route"), "charges");
		assert_int_equal(fields->elements, *status ? 12 : 10);
		len += (size_t)snprintf(story + len, STORY_MAX - len,
		    "%s%s>%s %s%s%s", i ? ", " : "", value_of(fields, "from"),
		    value_of(fields, "to"), value_of(fields, "attempt"),
		    *status ? " " : "", status);
		assert_true(len < STORY_MAX);
	}
	freeReplyObject(entries);
}

static void
story_is(const char *expected)
{
	char story[STORY_MAX];
	read_story(EVENTS, story);
	assert_string_equal(story, expected);
}

/* --- who does what --- */

static const char *const verbs[] = {"claim hold", "claim retry",
    "claim reconcile:0", "claim execute", "complete", "complete again",
    "mark unknown", "mark unknown again", "release sent",
    "release unsent", "release refused", "forget", "forget refused",
    "give back", "expire", "operator release", "operator complete",
    "operator delete"};

static redisReply *
act(const char *verb, const char *owner, int attempt, int max_attempts)
{
	if (strncmp(verb, "claim ", 6) == 0)
		return claim(owner, PRINT, verb + 6, max_attempts, 0);
	if (strncmp(verb, "operator ", 9) == 0)
		return operate(verb + 9);
	if (strcmp(verb, "expire") == 0)
		return expire();
	return step(verb, owner, strcmp(verb, "give back") ? attempt : 0);
}

static void
done(redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s", reply->str);
	freeReplyObject(reply);
}

/* --- tests --- */

static void
each_change_of_state_is_told_by_the_step_that_makes_it(void **state)
{
	(void)state;
#define P "PROCESSING"
#define U "UNKNOWN"
#define C "COMPLETED"
	static const struct {
		const char *record, *verb, *owner;
		int max_attempts;
		const char *told;
	} rows[] = {
	    {"none", "claim hold", A, 5, "NONE>" P " 1"},
	    {"R", "claim hold", B, 5, "NONE>" P " 4"},
	    {"R", "claim hold", B, 2, "NONE>FAILED 3"},
	    {"U", "claim retry", B, 5, U ">" P " 4"},
	    {"U", "claim retry", B, 2, U ">FAILED 3"},
	    {"U", "claim reconcile:0", B, 5, U ">" P " 3"},
	    /* The lease expires, and what follows from that, in one step. */
	    {"P expired", "claim hold", B, 5, P ">" U " 3"},
	    {"P expired", "claim retry", B, 5, P ">" U " 3, " U ">" P " 4"},
	    {"P expired", "claim retry", B, 2,
		P ">" U " 3, " U ">FAILED 3"},
	    {"P expired", "claim reconcile:0", B, 5,
		P ">" U " 3, " U ">" P " 3"},
	    {"P asking expired", "claim reconcile:0", X, 5,
		P ">" U " 3, " U ">" P " 3"},
	    {"P expired", "expire", NULL, 5, P ">" U " 3"},
	    {"P asking expired", "expire", NULL, 5, P ">" U " 3"},
	    /* The upstream said that the attempt did not happen. */
	    {"P asking", "claim execute", B, 5,
		P ">NONE 3, NONE>" P " 4"},
	    {"P asking", "claim execute", B, 2,
		P ">NONE 3, NONE>FAILED 3"},
	    {"U put back", "claim execute", B, 5,
		U ">NONE 3, NONE>" P " 4"},
	    /* It did, or the upstream's answer was no use. */
	    {"P asking", "complete", B, 5, P ">" C " 3 201"},
	    {"P asking", "mark unknown", B, 5, P ">" U " 3"},
	    {"P asking", "release sent", B, 5, P ">" U " 3"},
	    {"P", "complete", A, 5, P ">" C " 3 201"},
	    {"U", "complete", A, 5, U ">" C " 3 201"},
	    {"P", "mark unknown", A, 5, P ">" U " 3"},
	    /* The record was gone, and is made again. */
	    {"none", "complete again", A, 5, "NONE>" C " 3 201"},
	    {"none", "mark unknown again", A, 5, "NONE>" U " 3"},
	    {"P", "release sent", A, 5, P ">NONE 3"},
	    {"P", "release unsent", A, 5, P ">NONE 3"},
	    {"P", "release refused", A, 5, P ">NONE 3"},
	    {"P", "forget", A, 5, P ">NONE 3"},
	    {"P", "forget refused", A, 5, P ">NONE 3"},
	    {"P", "give back", A, 5, P ">NONE 3"},
	    {"U", "release sent", A, 5, U ">NONE 3"},
	    {"P retry", "release unsent", A, 5, P ">" U " 2"},
	    {"P retry", "give back", A, 5, P ">" U " 2"},
	    {"U", "operator release", NULL, 5, U ">NONE 3"},
	    {"F", "operator release", NULL, 5, "FAILED>NONE 3"},
	    {"U", "operator complete", NULL, 5, U ">" C " 3 202"},
	    {"F", "operator complete", NULL, 5, "FAILED>" C " 3 202"},
	    {"C", "operator delete", NULL, 5, C ">NONE 3"},
	    {"U", "operator delete", NULL, 5, U ">NONE 3"},
	    {"F", "operator delete", NULL, 5, "FAILED>NONE 3"},
	    /* Nothing changes. */
	    {"R", "operator delete", NULL, 5, ""},
	    {"P", "claim hold", A, 5, ""},
	    {"P", "claim hold", B, 5, ""},
	    {"P asking", "claim reconcile:0", B, 5, ""},
	    {"U", "claim hold", B, 5, ""},
	    {"C", "claim hold", B, 5, ""},
	    {"F", "claim retry", B, 5, ""},
	    {"P", "complete", X, 5, ""},
	    {"C", "complete", A, 5, ""},
	    {"U", "mark unknown", A, 5, ""},
	    {"R", "release sent", A, 5, ""},
	    {"none", "complete", A, 5, ""},
	    {"P", "expire", NULL, 5, ""},
	    {"P", "operator release", NULL, 5, ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		print_message("# %s, %s: %s\n", rows[i].record, rows[i].verb,
		    rows[i].told);
		put(rows[i].record);
		done(act(rows[i].verb, rows[i].owner, 3,
		    rows[i].max_attempts));
		story_is(rows[i].told);
	}
#undef P
#undef U
#undef C
}

static const char *
word_of(char letter)
{
	return letter == 'P' ? "PROCESSING"
	    : letter == 'C'  ? "COMPLETED"
	    : letter == 'U'  ? "UNKNOWN"
	    : letter == 'F'  ? "FAILED"
			     : "NONE";
}

/*
 * Asserts that each entry begins with the state in which the one before it
 * ended, and that the stream "dead" has those that end badly, but for what is
 * UNKNOWN again.
 */
static void
story_leads(const char *from, const char *to)
{
	char story[STORY_MAX], dead[STORY_MAX], bad[STORY_MAX] = "";
	char value[VALUE_MAX];
	get_record(value);
	read_story(EVENTS, story);
	read_story(DEAD, dead);
	const char *at = from;
	size_t at_len = strlen(from);
	for (char *entry = story; *entry != '\0';) {
		size_t len = strcspn(entry, ",");
		char *arrow = strchr(entry, '>');
		assert_non_null(arrow);
		assert_int_equal(arrow - entry, at_len);
		assert_memory_equal(entry, at, at_len);
		at = arrow + 1;
		at_len = strcspn(at, " ");
		assert_false(at_len == (size_t)(arrow - entry) &&
		    memcmp(at, entry, at_len) == 0);
		/* An owner that only asked has put it back. */
		bool again = *at == 'U' && strstr(value, " back=") != NULL;
		if (strchr("UF", *at) != NULL && !again) {
			strcat(bad, *bad ? ", " : "");
			strncat(bad, entry, len);
		}
		entry += len + (entry[len] == ',' ? 2 : 0);
	}
	assert_int_equal(at_len, strlen(to));
	assert_memory_equal(at, to, at_len);
	assert_string_equal(dead, bad);
}

static void
what_is_forgotten_is_told_before_it_is_gone(void **state)
{
	(void)state;
	put("none");
	done(claim(A, PRINT, "hold", 5, 0));
	done(step("forget", A, 1));
	story_is("NONE>PROCESSING 1, PROCESSING>NONE 1");
	assert_int_equal(redis_integer(redis, "EXISTS %s", RECORD), 0);
}

/* Every record, step and owner, and each step twice. */
static void
events_lead_from_what_was_to_what_is_whatever_the_step(void **state)
{
	(void)state;
	static const char *const owners[] = {A, B, X};
	for (size_t r = 0; setup_name(r) != NULL; r++)
		for (size_t i = 0; i < 6 * sizeof verbs / sizeof *verbs; i++) {
			const char *verb = verbs[i / 6];
			const char *owner = owners[i % 3];
			int most = i % 6 < 3 ? 5 : 2;
			char before[VALUE_MAX], after[VALUE_MAX];
			char told[STORY_MAX];
			put(setup_name(r));
			get_record(before);
			done(act(verb, owner, 3, most));
			get_record(after);
			story_leads(word_of(before[2]), word_of(after[2]));
			read_story(EVENTS, told);
			if (memcmp(before, after, VALUE_MAX) == 0)
				assert_string_equal(told, "");
			/* Its reply was lost. */
			done(act(verb, owner, 3, most));
			story_is(told);
		}
}

static void
a_full_redis_tells_what_it_takes_and_nothing_else(void **state)
{
	(void)state;
	static const struct {
		const char *record, *verb;
		bool taken;
	} rows[] = {{"none", "claim hold", false}, {"R", "claim hold", false},
	    {"U", "claim retry", false}, {"P expired", "claim retry", false},
	    {"P", "complete", true}, {"P", "mark unknown", true},
	    {"P", "release sent", true}, {"P retry", "give back", true},
	    {"P expired", "expire", true}, {"U", "operator complete", true}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char before[VALUE_MAX], after[VALUE_MAX];
		put(rows[i].record);
		get_record(before);
		redis_just(redis, "CONFIG SET maxmemory 1");
		redisReply *reply =
		    act(rows[i].verb, rows[i].taken ? A : B, 3, 5);
		redis_just(redis, "CONFIG SET maxmemory 0");
		assert_int_equal(
		    reply->type != REDIS_REPLY_ERROR, rows[i].taken);
		freeReplyObject(reply);
		get_record(after);
		story_leads(word_of(before[2]), word_of(after[2]));
		if (!rows[i].taken)
			assert_memory_equal(after, before, VALUE_MAX);
		indexes_are_right(after[2]);
	}
}

/*
 * A key that is no stream does not stop a payment, and the caller learns of it.
 */
static void
an_event_that_is_refused_does_not_stop_its_step(void **state)
{
	(void)state;
	static const struct {
		const char *record, *verb;
		char after;
	} rows[] = {{"none", "claim hold", 'P'}, {"P", "complete", 'C'},
	    {"P", "mark unknown", 'U'}, {"P", "release sent", 'R'},
	    {"P expired", "expire", 'U'}, {"F", "operator complete", 'C'},
	    {"C", "operator delete", 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char after[VALUE_MAX], dead[STORY_MAX];
		put(rows[i].record);
		redis_just(redis, "SET %s text", EVENTS);
		redisReply *reply = act(rows[i].verb, A, 3, 5);
		assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
		const redisReply *last = reply->element[reply->elements - 1];
		assert_int_equal(last->type, REDIS_REPLY_ERROR);
		assert_memory_equal(last->str, "WRONGTYPE ", 10);
		freeReplyObject(reply);
		get_record(after);
		assert_int_equal(after[2], rows[i].after);
		indexes_are_right(after[2]);
		read_story(DEAD, dead);
		assert_int_equal(*dead != '\0', after[2] == 'U');
	}
}

static void
the_streams_are_cut_to_about_their_length(void **state)
{
	(void)state;
	/* A node of a stream has 100 entries; only whole nodes are dropped. */
	put("none");
	for (int i = 0; i < EVENTS_MAX; i++) {
		word_is(claim(A, PRINT, "hold", 1000000, 0), "OURS");
		done(step("give back", A, 0));
	}
	long long len = redis_integer(redis, "XLEN %s", EVENTS);
	assert_in_range(len, EVENTS_MAX, EVENTS_MAX + 100);
}

static void
nothing_is_told_where_nobody_asked_for_it(void **state)
{
	(void)state;
	telling = false;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
		put("P expired");
		done(act(verbs[i], A, 3, 5));
		assert_int_equal(
		    redis_integer(redis, "EXISTS %s %s", EVENTS, DEAD), 0);
	}
	telling = true;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_BOTH(
		each_change_of_state_is_told_by_the_step_that_makes_it),
	    IN_BOTH(
		events_lead_from_what_was_to_what_is_whatever_the_step),
	    IN_BOTH(
		a_full_redis_tells_what_it_takes_and_nothing_else),
	    IN_BOTH(what_is_forgotten_is_told_before_it_is_gone),
	    IN_BOTH(an_event_that_is_refused_does_not_stop_its_step),
	    IN_BOTH(the_streams_are_cut_to_about_their_length),
	    IN_BOTH(nothing_is_told_where_nobody_asked_for_it),
	};
	return cmocka_run_group_tests_name(
	    "events", tests, start, stop_redis);
}
