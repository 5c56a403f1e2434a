/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/span.h"

/*
 * SHA-1 (RFC 3174), because Redis names scripts by it (EVALSHA).  It protects
 * nothing there; for everything else there is base/digest.h.  Pure; any thread.
 */
enum { SHA1_BYTES = 20, SHA1_HEX = 2 * SHA1_BYTES };

/* The digest of a text, in the RFC's order of bytes. */
void sha1(struct span text, uint8_t ret_hash[SHA1_BYTES]);
