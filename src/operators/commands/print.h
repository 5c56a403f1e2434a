/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "conf/complaints.h"
#include "conf/conf.h"

/* Commands print for people and for scripts by these.  Main thread. */

/*
 * Prints others' text with control characters, but for those that are kept, as
 * JSON writes them: it speaks to no terminal.
 */
void print_text(FILE *out, struct span text, const char *kept);
/* Keeps none: one line stays one line. */
void print_safely(FILE *out, const char *text);
/*
 * Prints a line for each complaint about a file, "FILE:LINE:COLUMN: POINTER:
 * MESSAGE", as far as these are known, with "warning: " before the pointer of a
 * warning; safely.
 */
void print_complaints(FILE *out, const char *file,
    const struct complaints *complaints);
/*
 * Loads a configuration, which the caller drops; NULL: it is not valid, and
 * standard error says why.
 */
const struct conf *print_unless_valid(const char *file);
/* Prints JSON with an indent, on standard output. */
void print_json(const json_t *json);
