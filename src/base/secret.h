/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

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
