/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "gate/key/variables.h"
#include "messages/broker/broker.h"

/*
 * What a message says, as text: its fields by name, the variables of templates,
 * the attributes of a CloudEvent (CloudEvents 1.0, HTTP binding).  It knows no
 * routes and no keys.  Pure; any thread.
 */

/* The field of that name, "_" read as "-", in any case; NULL: none. */
const struct field *message_text_field(
    const struct broker_message *message, struct span name);

/*
 * What a variable of a template stands for; false where that is missing, null,
 * an object or a list.  scratch keeps what is read of the body.
 */
MUST_USE bool message_text_value(const struct broker_message *message,
    struct span body, struct arena *scratch,
    const struct template_piece *piece, struct span *ret_value);
/*
 * The text of a template of a header field: the values as they are.  False
 * where one is missing, empty, or has control characters.
 */
MUST_USE bool message_text_fill(struct arena *arena,
    const struct template *template, variables_value *value, void *arg,
    struct span *ret_text);

/*
 * Adds the attributes of a message's event, five fields at most: its own where
 * it has them, else made of where it stands, without a time that is not known.
 */
void message_text_cloudevent(const struct conf_source *source,
    const struct broker_message *message, struct arena *arena,
    struct fields *fields);
/*
 * Percent-encodes what a header field of an event may not have: blanks, quotes,
 * "%", and all outside U+0021 to U+007E (HTTP binding, section 3.1.3.2).
 */
struct span message_text_encode(struct arena *arena, struct span value);

/* A JSON object of strings; false where one is no UTF-8. */
MUST_USE bool message_text_json(struct arena *arena,
    const struct fields *fields, struct span *ret_text);
/* RFC 3339, in UTC with milliseconds. */
struct span message_text_time(struct arena *arena, int64_t wall_ms);
