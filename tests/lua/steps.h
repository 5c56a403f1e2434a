/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/redis.h"

/*
 * Runs the scripts of src/store/record/lua/ as they are on a real redis-server,
 * by their text or as functions (store.scripting), and asserts what must be
 * true after each.  A record that is put there has attempt 3, 2 tries and the
 * owner A (or B, where A's attempt is being asked about); where there was an
 * attempt before that is unknown, it was Y's.  A failure here ends the test
 * program.
 */
#define A "AAAAAAAAAAAAAAAAAAAAAA"
#define B "BBBBBBBBBBBBBBBBBBBBBB"
#define Y "YYYYYYYYYYYYYYYYYYYYYY"
#define X "XXXXXXXXXXXXXXXXXXXXXX"
#define NOBODY "----------------------"
#define PRINT "fingerprint-of-request"
#define NOTE "bm90ZQ" /* "note", in base64 */
#define OTHER_PRINT "fingerprint-of-another"
#define ID "0123456789abcdef0123456789abcdef"
#define RECORD "t:{7}:r:" ID
#define LEASES "t:{7}:leases"
#define HELD "t:{7}:held"
#define ASKING "t:{7}:asking:charges"
#define EVENTS "t:{7}:events"
#define DEAD "t:{7}:dead"
/* Another key, of another shard; and an entity. */
#define OTHER_ID "fedcba9876543210fedcba9876543210"
#define OTHER_RECORD "t:{9}:r:" OTHER_ID
#define ENTITY "3}:e:0000ffff0000ffff0000ffff0000ffff"

enum {
	LEASE = 15000,
	RETENTION = 100000,
	UNKNOWN_RETENTION = 300000,
	LONGEST = UNKNOWN_RETENTION,
	SLACK = 60000, /* how much longer an index may be kept */
	VALUE_MAX = 512,
	EVENTS_MAX = 1000,
	TRIES = 2, /* of a record that is made again … */
};
#define CREATED INT64_C(1700000000000) /* … and when it was made first */

/* Setup and teardown of a group: the redis-server of the test program. */
extern struct redis *redis;
int start_redis(void **state);
int stop_redis(void **state);

/* A test, in both ways of store.scripting. */
int by_script(void **state);
int by_function(void **state);
#define IN_BOTH(test)                            \
	cmocka_unit_test_setup(test, by_script), \
	    {#test " (function)", test, by_function, NULL, NULL}

/*
 * From now on: whether steps write events; whether claims say that Redis must
 * not be trusted (unsafe), nor its clock (jumped).
 */
extern bool telling, unsafe, jumped;
/* Likewise: whether claims wait, and whether steps are about the other key. */
extern bool waiting, other;
/* The provenance of claims; NULL: the route, as earlier releases had it. */
extern const char *claimed;
/* Likewise: whether the status of an answer is enough for claims. */
extern bool briefly;
/* What the next claims change; NULL: nothing that is named. */
struct changed {
	const char *version, *shown; /* empty: no newer_only */
	bool serialize;
};
extern const struct changed *changed;

/* --- records --- */

/* Empties the database and puts that record there; see steps.c. */
void put(const char *name);
/* The names of all records that can be put there; NULL after the last. */
const char *setup_name(size_t i);
/* The record's value, padded with zeros. */
void get_record(char value[VALUE_MAX]);
int64_t redis_now(void);

/* --- steps; the caller frees the reply --- */

redisReply *claim(const char *owner, const char *print, const char *policy,
    int max_attempts, int64_t deadline);
/* Of a COMPLETED record: as many replicas have it as must. */
redisReply *confirm(const char *owner);
/*
 * verb: complete, mark unknown, release sent, release unsent, forget, give
 * back; release refused and forget refused, which do not count; and "complete
 * again" and "mark unknown again", which make the record again where it is
 * gone.
 */
redisReply *step(const char *verb, const char *owner, int attempt);
/* The sweeper's step; and an operator's: release, complete or delete. */
redisReply *expire(void);
redisReply *operate(const char *act);
/* 1 or 0, as the script answered for the record. */
long long renew(const char *owner, int attempt);

/* --- what must be true --- */

/* The first word of the reply, which is freed. */
void word_is(redisReply *reply, const char *word);
bool is_in(const char *index);
/* Asserts that a key lives that long, or a little less. */
void ttl_is(const char *key, long long ms);
/* Asserts that the record is in the index of its state, and in no other. */
void indexes_are_right(char state);
/*
 * "VERDICT =": the record is as before; "VERDICT P4-": it has that state,
 * attempt and reason.  Frees the reply.
 */
void outcome_is(redisReply *reply, const char *expected, const char *before);
/* Asserts which text the record has from that byte on. */
void head_has(size_t at, const char *what);
