/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdio.h>

/*
 * What commands print for people on standard output.  Main thread.
 */

/* Text of others; one line stays one line: control characters as JSON
 * writes them. */
void print_safely(const char *text);
