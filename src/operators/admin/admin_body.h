/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/must.h"
#include "store/records.h"

/*
 * The admin interface's JSON is made and read here: records and times are
 * written, an operator's body is checked member by member, and a query is taken
 * apart.  Nobody is asked here, and nothing answered.  Main thread.
 */
struct admin_request;

/* Returns the word for a state, such as "UNKNOWN". */
const char *admin_body_state(enum record_state state);
/* Makes a string of a time: RFC 3339, UTC, with milliseconds. */
json_t *admin_body_time(int64_t wall_ms);
/* Makes a string of any bytes, as answer_json_text; NULL: there are none. */
json_t *admin_body_text(struct span text);
/* Makes a record; answer is the stored one, or NULL where it was not read. */
json_t *admin_body_record(const struct record *record,
    const struct answer *answer, bool with_body);
/* Makes the record that was found, with its answer where that opens. */
json_t *admin_body_shown(const struct records_op *look, bool with_body);

/* --- reading --- */

/*
 * Sees that the request has no members, and no query, but those that its
 * endpoint takes, and reads the note and what is meant.  NULL, or a sentence
 * about what is wrong.
 */
const char *admin_body_read(struct admin_request *a);
/* Reads the answer that an operator tells; NULL, or such a sentence. */
const char *admin_body_outcome(struct admin_request *a);
/* Returns the text of a string; it lives as long as that. */
struct span admin_body_span(const json_t *json);

/* --- a target's query --- */

/* Cuts the next parameter off *query; false: there are no more. */
MUST_USE bool admin_body_parameter(
    struct span *query, struct span *ret_name, struct span *ret_value);
/* Reads how many a page may have, 1000 at most; false: no number from 1. */
MUST_USE bool admin_body_limit(struct span digits, size_t *ret_limit);
enum { ADMIN_BODY_LIMIT = 100 }; /* where nothing is said */
