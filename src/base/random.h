/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

/*
 * Bytes that nobody can guess, for names that must be unlike all others: of
 * owners, requests and files.  They come from libsodium in blocks of which
 * each thread keeps one; what was given out is wiped from it.  Any thread.
 */

/* Fills len bytes. */
void random_bytes(void *to, size_t len);
