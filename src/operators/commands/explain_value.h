/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

/*
 * A value of the configuration as people read it in a table: strings without
 * their quotes, lists with commas.  Pure; main thread.
 */

/* NULL is "none".  The caller frees the text; the value is only looked at. */
char *explain_value_text(json_t *value);
