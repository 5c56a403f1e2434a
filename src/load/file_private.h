/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * Files that may have secrets: no copy of what was read is left behind.
 */

/*
 * Reads a whole file; 0 or an errno, EFBIG beyond max bytes.  The caller
 * frees *ret_text, and wipes it before; it ends in a NUL that ret_len leaves
 * out.
 */
int file_read(const char *name, size_t max, char **ret_text, size_t *ret_len);
