/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/must.h"
#include "lua/steps.h"
#include "store/record/release.h"
#include "store/record/script.h"

struct redis *redis;
const char *claimed;
bool telling, unsafe, jumped, waiting, other, briefly;
const struct changed *changed;
static struct function_library *library;
static bool functions; /* FCALL, not EVAL */

int
start_redis(void **state)
{
	(void)state;
	redis = redis_start(NULL);
	library = script_library_new();
	redisReply *reply = redis_do(redis, "FUNCTION LOAD %s", library->text);
	assert_string_equal(reply->str, library->name);
	freeReplyObject(reply);
	return 0;
}

int
stop_redis(void **state)
{
	(void)state;
	script_library_free(&library);
	redis_stop(&redis);
	return 0;
}

int
by_script(void **state)
{
	(void)state;
	functions = false;
	return 0;
}

int
by_function(void **state)
{
	(void)state;
	functions = true;
	return 0;
}

/* --- records --- */

struct setup {
	const char *name;
	char state, reason;
	bool expired; /* its lease */
	const char *owner, *print;
	const char *rest; /* of a record of this version: its notes */
};

#define SINCE "1700000000000"
#define CALL_NAME "00112233445566aa"
#define BEFORE " before=" Y "t" SINCE

static const struct setup setups[] = {
    {"none", 0, 0, false, NULL, NULL, NULL},
    {"P", 'P', '-', false, A, PRINT, ""},
    {"P expired", 'P', '-', true, A, PRINT, ""},
    {"P retry", 'P', '-', false, A, PRINT, BEFORE},
    {"P retry expired", 'P', '-', true, A, PRINT, BEFORE},
    {"P asking", 'P', 't', false, B, PRINT, " asked=" A " since=" SINCE},
    {"P asking expired", 'P', 't', true, B, PRINT,
	" asked=" A " since=" SINCE},
    {"U", 'U', 't', true, A, PRINT, ""},
    {"U after retry", 'U', 't', true, A, PRINT, BEFORE},
    {"U put back", 'U', 't', true, A, PRINT, " back=" B "000003"},
    {"U after retry, put back", 'U', 't', true, A, PRINT,
	" back=" B "000003" BEFORE},
    /* As earlier releases wrote them. */
    {"P retry, o1", 'P', 'T', false, A, PRINT, ""},
    {"P retry expired, o1", 'P', 'T', true, A, PRINT, ""},
    {"P asking, o1", 'P', 't', false, B, PRINT, A},
    {"P asking expired, o1", 'P', 't', true, B, PRINT, A},
    {"U after retry, o1", 'U', 'T', true, A, PRINT, ""},
    {"U put back, o1", 'U', 't', true, A, PRINT, B},
    {"U unsent, o1", 'U', 't', true, NOBODY, PRINT, A},
    {"C", 'C', '-', true, A, PRINT, "p\nthe answer"},
    {"F", 'F', '-', true, A, PRINT, ""},
    {"R", 'R', '-', true, A, NOBODY, ""},
    {"R by nobody", 'R', '-', true, NOBODY, NOBODY, ""},
};

const char *
setup_name(size_t i)
{
	return i < sizeof setups / sizeof *setups ? setups[i].name : NULL;
}

static const struct setup *
setup_of(const char *name)
{
	for (size_t i = 0; i < sizeof setups / sizeof *setups; i++)
		if (strcmp(setups[i].name, name) == 0)
			return &setups[i];
	fail_msg("no record %s", name);
	abort();
}

int64_t
redis_now(void)
{
	redisReply *reply = redis_do(redis, "TIME");
	int64_t ms = atoll(reply->element[0]->str) * 1000 +
	    atoll(reply->element[1]->str) / 1000;
	freeReplyObject(reply);
	return ms;
}

void
put(const char *name)
{
	const struct setup *setup = setup_of(name);
	int64_t now = redis_now();
	char value[VALUE_MAX];
	bool notes = setup->state != 0 && setup->rest[0] == ' ';
	redis_just(redis, "FLUSHALL");
	if (setup->state == 0)
		return;
	int len = snprintf(value, sizeof value,
	    "o%d%c%c%06d%06d%013" PRId64 "%013" PRId64 "%013" PRId64
	    "%s%s\ncharges\n%s%s",
	    notes ? 2 : 1, setup->state, setup->reason, 3, 2, now - 5000,
	    now - 4000,
	    setup->expired ? now - 10 : now + LEASE, setup->owner,
	    setup->print, setup->rest, notes ? "\n" : "");
	redis_just(
	    redis, "SET %s %b PX %d", RECORD, value, (size_t)len, RETENTION);
	const char *index = setup->state == 'P' ? LEASES : HELD;
	if (strchr("PUF", setup->state) == NULL)
		return;
	redis_just(redis, "ZADD %s %lld %s", index, (long long)now, ID);
	redis_just(redis, "PEXPIRE %s %d", index, 1000);
	if (setup->state != 'U')
		return;
	redis_just(redis, "ZADD %s %lld %s", ASKING, (long long)now, ID);
	redis_just(redis, "PEXPIRE %s %d", ASKING, 1000);
}

void
get_record(char value[VALUE_MAX])
{
	redisReply *reply = redis_do(redis, "GET %s", RECORD);
	memset(value, 0, VALUE_MAX);
	if (reply->type == REDIS_REPLY_STRING)
		memcpy(value, reply->str, reply->len);
	freeReplyObject(reply);
}

/* --- running a script --- */

enum { TEXT_MAX = 320 };

struct words {
	size_t count;
	char text[64][TEXT_MAX];
};

/* What the steps are about. */
static const struct {
	const char *record, *leases, *held, *events, *dead;
} names[] = {{RECORD, LEASES, HELD, EVENTS, DEAD},
    {OTHER_RECORD, "t:{9}:leases", "t:{9}:held", "t:{9}:events",
	"t:{9}:dead"}};

static void PRINTF_LIKE(2, 3)
add(struct words *words, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char *text = words->text[words->count++];
	int len = vsnprintf(text, sizeof *words->text, fmt, args);
	assert_true(len < (int)sizeof *words->text);
	va_end(args);
}

static struct words
begin(const char *first)
{
	struct words words = {0};
	add(&words, telling ? "5" : "3");
	add(&words, "%s", names[other].record);
	add(&words, "%s", names[other].leases);
	add(&words, "%s", names[other].held);
	if (telling) {
		add(&words, "%s", names[other].events);
		add(&words, "%s", names[other].dead);
	}
	add(&words, "%s", first);
	return words;
}

static redisReply *
run(const char *command, const char *what, const struct words *words)
{
	const char *argv[70] = {command, what};
	for (size_t i = 0; i < words->count; i++)
		argv[2 + i] = words->text[i];
	redisReply *reply = redisCommandArgv(
	    redis->client, (int)words->count + 2, argv, NULL);
	assert_non_null(reply);
	return reply;
}

/* Where a full Redis refuses a function, runs the one that only reads. */
static redisReply *
run_function(enum script script, const struct words *words)
{
	redisReply *reply = run("FCALL", library->functions[script], words);
	if (reply->type != REDIS_REPLY_ERROR ||
	    strncmp(reply->str, "OOM ", 4) != 0)
		return reply;
	assert_string_not_equal(library->readers[script], "");
	redisReply *read = run("FCALL", library->readers[script], words);
	bool refused = read->type == REDIS_REPLY_ERROR;
	freeReplyObject(refused ? read : reply);
	return refused ? reply : read;
}

/* The caller frees the reply. */
static redisReply *
eval(enum script script, struct words *words)
{
	if (telling && script != SCRIPT_renew)
		add(words, "%d", EVENTS_MAX);
	add(words, "%s", CALL_NAME);
	return functions ? run_function(script, words)
			 : run("EVAL", script_text(script).ptr, words);
}

redisReply *
claim(const char *owner, const char *print, const char *policy,
    int max_attempts, int64_t deadline)
{
	char terms[TEXT_MAX];
	snprintf(terms, sizeof terms,
	    " %013" PRId64 "%d%d%d %d %d %d %d %s", deadline,
	    waiting + 2 * briefly, unsafe + 4 * jumped, LEASE,
	    UNKNOWN_RETENTION, UNKNOWN_RETENTION, max_attempts, LONGEST,
	    policy);
	struct words words = begin(terms);
	add(&words, "%s%s\n%s\n", owner, print, claimed ? claimed : "charges");
	if (changed != NULL) {
		add(&words, "%s", ENTITY);
		add(&words, "%s", changed->version);
		add(&words, "%s", changed->shown);
		add(&words, "%d", changed->serialize);
	}
	return eval(SCRIPT_claim, &words);
}

/* What a record that is gone is made of again. */
static void
add_history(struct words *words)
{
	add(words, "%s", PRINT);
	add(words, "%06d", TRIES);
	add(words, "%013" PRId64, CREATED);
	add(words, "charges");
}

redisReply *
confirm(const char *owner)
{
	struct words words = begin(owner);
	return eval(SCRIPT_confirm, &words);
}

/* Of give back, too, nothing was sent. */
static enum release
release_of(const char *verb)
{
	static const char *const verbs[] = {
	    [RELEASE_COUNTED] = "release sent",
	    [RELEASE_COUNTED_FORGET] = "forget",
	    [RELEASE_SPARED] = "release refused",
	    [RELEASE_SPARED_FORGET] = "forget refused",
	};
	for (int i = RELEASE_COUNTED; i < RELEASE_COUNT_; i++)
		if (strcmp(verbs[i], verb) == 0)
			return (enum release)i;
	return RELEASE_UNSENT;
}

redisReply *
step(const char *verb, const char *owner, int attempt)
{
	bool again = strstr(verb, " again") != NULL;
	if (strncmp(verb, "complete", 8) == 0) {
		char terms[TEXT_MAX];
		snprintf(terms, sizeof terms, " %06d%d", attempt, RETENTION);
		struct words words = begin(terms);
		add(&words, "%s", owner);
		add(&words, "p\nanswer of %s", owner);
		add(&words, "201");
		if (again)
			add_history(&words);
		return eval(SCRIPT_complete, &words);
	}
	struct words words = begin(owner);
	add(&words, "%06d", attempt);
	if (strncmp(verb, "mark unknown", 12) == 0) {
		add(&words, strstr(verb, " started") ? "B" : "b");
		add(&words, "%d", UNKNOWN_RETENTION);
		add(&words, "%d", LONGEST);
		if (again)
			add_history(&words);
		return eval(SCRIPT_mark_unknown, &words);
	}
	add(&words, "%d", release_of(verb));
	add(&words, "%d", RETENTION);
	add(&words, "%d", UNKNOWN_RETENTION);
	add(&words, "%d", LONGEST);
	return eval(SCRIPT_release, &words);
}

redisReply *
expire(void)
{
	char longest[24];
	snprintf(longest, sizeof longest, "%d", LONGEST);
	struct words words = begin(longest);
	return eval(SCRIPT_expire, &words);
}

redisReply *
operate(const char *act)
{
	bool completes = strcmp(act, "complete") == 0;
	struct words words = begin(act);
	add(&words, "%d", RETENTION);
	add(&words, "%s", completes ? "p\nof the operator" : "");
	add(&words, "%d", completes ? 202 : 0);
	add(&words, "0");
	add(&words, "%s", "");
	add(&words, "%s", NOTE);
	add(&words, "%d", LONGEST);
	add(&words, "0");
	return eval(SCRIPT_operate, &words);
}

long long
renew(const char *owner, int attempt)
{
	struct words words = {0};
	add(&words, "2");
	add(&words, "%s", names[other].leases);
	add(&words, "%s", names[other].record);
	add(&words, "%d", LONGEST);
	add(&words, "%s", owner);
	add(&words, "%06d", attempt);
	add(&words, "%d", LEASE);
	add(&words, "%d", UNKNOWN_RETENTION);
	redisReply *reply = eval(SCRIPT_renew, &words);
	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	assert_int_equal(reply->elements, 5);
	long long kept = reply->element[4]->integer;
	freeReplyObject(reply);
	return kept;
}

/* --- what must be true --- */

void
word_is(redisReply *reply, const char *word)
{
	if (reply->type == REDIS_REPLY_ERROR)
		fail_msg("%s", reply->str);
	assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
	assert_string_equal(reply->element[0]->str, word);
	assert_string_equal(reply->element[3]->str, CALL_NAME);
	freeReplyObject(reply);
}

bool
is_in(const char *index)
{
	redisReply *reply = redis_do(redis, "ZSCORE %s %s", index, ID);
	bool in = reply->type == REDIS_REPLY_STRING;
	freeReplyObject(reply);
	return in;
}

void
ttl_is(const char *key, long long ms)
{
	long long ttl = redis_integer(redis, "PTTL %s", key);
	if (ttl > ms || ttl < ms - 5000)
		fail_msg("%s lives %lld ms, not %lld", key, ttl, ms);
}

void
indexes_are_right(char state)
{
	assert_int_equal(is_in(LEASES), state == 'P');
	assert_int_equal(is_in(HELD), state == 'U' || state == 'F');
	assert_int_equal(is_in(ASKING), state == 'U');
	if (is_in(ASKING))
		assert_true(redis_integer(redis, "PTTL %s", ASKING) > 0);
	if (is_in(LEASES))
		assert_true(redis_integer(redis, "PTTL %s", LEASES) > 0);
	if (is_in(HELD))
		assert_true(redis_integer(redis, "PTTL %s", HELD) > 0);
}

void
outcome_is(redisReply *reply, const char *expected, const char *before)
{
	char word[32], what[8], after[VALUE_MAX];
	assert_int_equal(sscanf(expected, "%31s %7s", word, what), 2);
	word_is(reply, word);
	get_record(after);
	if (strcmp(what, "=") == 0) {
		assert_memory_equal(after, before, VALUE_MAX);
		return;
	}
	char seen[8];
	snprintf(seen, sizeof seen, "%c%d%c", after[2],
	    atoi((char[]){after[4], after[5], after[6], after[7], after[8],
		after[9], 0}),
	    after[3]);
	assert_string_equal(seen, what);
	assert_int_equal(after[99], '\n');
	indexes_are_right(after[2]);
	ttl_is(RECORD, strchr("PUF", after[2]) ? UNKNOWN_RETENTION : RETENTION);
	const char *index = after[2] == 'P' ? LEASES : HELD;
	if (strchr("PUF", after[2]))
		ttl_is(index, LONGEST + SLACK);
}

void
head_has(size_t at, const char *what)
{
	char value[VALUE_MAX];
	get_record(value);
	assert_memory_equal(value + at, what, strlen(what));
}
