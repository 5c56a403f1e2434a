/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/span.h"

/*
 * Small memory that the program cannot do without: each function dies with
 * must() when there is none.  Bodies, whose size the outside chooses, are
 * counted and refused instead (base/body.h).  Any thread; free() frees.
 */
void *mem_zero(size_t bytes);
void *mem_grow(void *old, size_t bytes);
void *mem_copy(const void *bytes, size_t len);

/* A NUL-terminated copy of a span. */
char *mem_str(struct span s);
/* A copy; NULL of NULL. */
char *mem_text(const char *text);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns what writes a text, which *ret_text has once it is closed. */
FILE *mem_stream(char **ret_text);
