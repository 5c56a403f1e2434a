/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/answer.h"

/*
 * A stored answer as people and other programs see it, in JSON.  Pure; any
 * thread.
 */

/* A string of any bytes; those that are no UTF-8 are read as Latin-1. */
json_t *answer_json_text(struct span text);
/*
 * Sets "headers", a list of pairs, and "body"; or "body_base64", of one that is
 * no UTF-8, or has a NUL, which PostgreSQL's jsonb does not take.
 */
void answer_json_set(json_t *object, const struct answer *answer);
