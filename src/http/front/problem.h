/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/answer.h"
#include "base/arena.h"
#include "conf/api_preset.h"
#include "conf/conf.h"

/*
 * Problem documents (RFC 9457): what the gateway answers in its own words,
 * made from tbl/problems.h.  It decides nothing and knows no requests.  Any
 * thread.
 */
enum problem {
#define PROBLEM(name, status, type, retry, after, title, detail) PROBLEM_##name,
#include "tbl/problems.h"
#undef PROBLEM
	PROBLEM_COUNT_,
};

enum problem_retry { SAME_KEY, NEW_KEY, FIX_REQUEST };

extern const struct problem_line {
	int status;
	const char *type; /* the contract's name, such as "in-flight" */
	enum problem_retry retry;
	int retry_after_s;
	const char *title;
	const char *detail;
} problem_lines[];

/* What a document says besides its line of the table. */
struct problem_details {
	const char *base;      /* problem_base */
	struct span key_id;    /* hex; empty: no instance */
	struct span detail;    /* empty: the table's */
	int status;            /* 0: the table's */
	/*
	 * What makes the key where the client sends none, as it stands behind
	 * "made of"; NULL: a client made it.
	 */
	const char *made_of;
	int original_status;   /* 0: no such member */
	const char *current_version; /* JSON; NULL: no such member */
	int64_t retry_after_s; /* 0: the table's */
	enum api_preset preset; /* whose words it has besides */
	const char *request_id; /* needed where there is a preset */
	enum on_unknown on_unknown; /* what a retry of such a request does */
	struct span date;      /* IMF-fixdate, for the Date field */
};

/* The document as an answer with one reference. */
struct answer *problem_new(
    enum problem problem, const struct problem_details *details);
/*
 * The document as the bytes of a whole HTTP/1.1 message, for where
 * libmicrohttpd takes no answer: on a connection too many, and before a head is
 * whole.  It says that the connection closes.  The bytes come from the arena.
 * detail: empty for that of tbl/problems.h.
 */
struct span problem_text(struct arena *arena, const struct conf *conf,
    enum problem problem, struct span detail);
/*
 * What the document says to do about it, in any other one: detail, retry,
 * retryable and, where there is a key, instance.
 */
void problem_put_hints(json_t *doc, enum problem problem,
    const struct problem_details *details);
