/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/complaints.h"
#include "store/records.h"

/*
 * The admin interface's JSON: records and times on the way out, and on the way
 * in what operators say, checked member by member.  It asks nobody and
 * answers nothing.  Main thread.
 */
struct admin_request;

/* Text of any bytes: what is not UTF-8 is read as Latin-1. */
json_t *admin_json_text(struct span text);
/* The contract's word for a state. */
const char *admin_json_state(enum record_state state);
/* RFC 3339, UTC, with milliseconds. */
json_t *admin_json_time(int64_t wall_ms);
/* A list of them, as the log has them. */
json_t *admin_json_complaints(const struct complaints *complaints);
/* A reload that was refused then, and why: as the log has it. */
json_t *admin_json_refused(
    int64_t wall_ms, const struct complaints *complaints);
/* What a reload of that time changes of keys, likewise. */
json_t *admin_json_keys_changed(
    int64_t wall_ms, const struct complaints *complaints);
/* The record; answer is the stored one, or NULL where it was not read. */
json_t *admin_json_record(const struct record_view *record,
    const struct answer *answer, bool with_body);
/* The record that was found, with its answer where it could be read. */
json_t *admin_json_shown(const struct records_op *look, bool with_body);

/*
 * These read the members of a request's body into the request, and return
 * NULL, or a sentence about what is wrong with them.
 */
/* What every act may say: an attempt and a note. */
const char *admin_json_read_act(struct admin_request *a);
/* A note, and nothing else. */
const char *admin_json_read_note(struct admin_request *a);
/* A note, and the names of partitions. */
const char *admin_json_read_rewind(struct admin_request *a);
/* An act's, and the outcome that an operator knows of. */
const char *admin_json_read_outcome(struct admin_request *a);

/* --- what is read --- */

/* The text of a string; it lives as long as that. */
struct span admin_json_span(const json_t *json);
/* It has no members but those: any other would be overlooked. */
bool admin_json_has_only(
    const json_t *object, const char *const *names, size_t count);
#define ADMIN_JSON_HAS_ONLY(object, names)                                    \
	admin_json_has_only(object, names, sizeof(names) / sizeof *(names))
