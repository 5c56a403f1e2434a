/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "base/span.h"
#include "store/record/script.h"
#include "store/record/verdict.h"

/*
 * The answer of a script: its verdict, and extras, which each script has others
 * of.  It knows neither calls nor connections.  Any thread.
 */
struct redisReply;

struct call_reply {
	enum verdict verdict;
	uint32_t attempt;
	int64_t now_ms; /* Redis' clock */
	/* OURS, and no more is said: a first attempt, whose record is new. */
	bool first;
	struct redisReply **extra; /* part of Redis' reply */
	size_t n_extra;
};

/*
 * Reads the reply to a run of that script; false: it is none that the script
 * gives.  *ret_name is the name of the run that it answers.
 */
MUST_USE bool call_reply_read(const struct redisReply *reply,
    enum script script, struct call_reply *ret_reply, struct span *ret_name);
/* The extra at i as a text; empty where there is none. */
struct span call_reply_text(const struct call_reply *reply, size_t i);
/* The extra at i as a list, of which each item is an extra: it has no more. */
struct call_reply call_reply_list(const struct call_reply *reply, size_t i);
/* The extra at i as an answer's status; 0 where there is none. */
int call_reply_status(const struct call_reply *reply, size_t i);
/* The extra at i as a time that is left, in ms; 0 where there is none. */
int64_t call_reply_ms(const struct call_reply *reply, size_t i);
