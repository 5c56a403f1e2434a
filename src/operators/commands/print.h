/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "conf/complaints.h"

/*
 * What commands print for people and for scripts.  Main thread.
 */

/* Text of others, with control characters as JSON writes them: it speaks to
 * no terminal, and one line stays one line. */
void print_safely(FILE *out, const char *text);
/*
 * A line for each complaint about a file, "FILE:LINE:COLUMN: POINTER:
 * MESSAGE", with what of this is known and "warning: " before the pointer of
 * one; safely: as print_safely does, else as
 * it is.
 */
void print_complaints(FILE *out, const char *file,
    const struct complaints *complaints, bool safely);
/* JSON with an indent, on standard output. */
void print_json(const json_t *json);
