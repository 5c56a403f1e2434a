/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "base/span.h"

/*
 * Memory for what must not be seen: left out of core dumps, kept out of swap
 * where the limit of locked memory allows it, wiped when it is freed, and
 * with pages around it that may not be touched (libsodium).  Some pages each:
 * for keys and passwords, not for what clients send.  Any thread.
 */

/* Zeroed. */
void *secret_alloc(size_t bytes);
/* A string of those bytes, with a NUL behind it. */
char *secret_str(struct span s);
/* Accepts NULL; free() must never get such memory. */
void secret_free(void *secret);
/* Wipes plain memory that had one, and frees it.  Accepts NULL. */
void secret_wipe(void *plain);
/*
 * Reads a whole file, which may have secrets; 0 or an errno, EFBIG beyond max
 * bytes.  *ret_text is plain memory, for secret_wipe(); it ends in a NUL that
 * ret_len leaves out.
 */
MUST_USE int secret_read_file(
    const char *name, size_t max, char **ret_text, size_t *ret_len);
