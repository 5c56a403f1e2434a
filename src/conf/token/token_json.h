/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/json.h"

/*
 * Members of tokens and of keys, by their plain names.  What is read twice, or
 * in two ways, is nothing: base/json.h takes no name twice.  Pure; any thread.
 */

/* NULL: there is none. */
const struct json *token_json_at(const struct json *object, const char *name);
const struct json *token_json_item(const struct json *list, unsigned index);
/* A member that is a string. */
MUST_USE bool token_json_text(
    const struct json *object, const char *name, struct span *ret_text);
/* Whether a member is that string, or a list with it. */
bool token_json_lists(
    const struct json *object, const char *name, struct span text);
