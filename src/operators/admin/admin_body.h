/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "store/records.h"

/*
 * The admin interface's JSON: records and times on the way out, and on the way
 * in what operators say, checked member by member.  It asks nobody and
 * answers nothing.  Main thread.
 */
struct admin_request;

/* Text of any bytes: what is not UTF-8 is read as Latin-1. */
json_t *admin_body_text(struct span text);
/* The contract's word for a state. */
const char *admin_body_state(enum record_state state);
/* RFC 3339, UTC, with milliseconds. */
json_t *admin_body_time(int64_t wall_ms);
/* The record; answer is the stored one, or NULL where it was not read. */
json_t *admin_body_record(const struct record_view *record,
    const struct answer *answer, bool with_body);
/* The record that was found, with its answer where it could be read. */
json_t *admin_body_shown(const struct records_op *look, bool with_body);

/* --- what is read --- */

/*
 * Reads the members of the request's body that its endpoint takes, into the
 * request; and it may have no query.  NULL, or a sentence about what is wrong.
 */
const char *admin_body_read(struct admin_request *a);
/* The text of a string; it lives as long as that. */
struct span admin_body_span(const json_t *json);
/*
 * It has no members but those, the last of which is NULL: any other would be
 * overlooked.
 */
bool admin_body_has_only(const json_t *object, const char *const *names);
