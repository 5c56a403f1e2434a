/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/span.h"

/*
 * SHA-1 (RFC 3174), because Redis names scripts by it (EVALSHA).  It is a
 * name there and protects nothing; for all else there is base/digest.h.
 * Pure; any thread.
 */
enum { SHA1_BYTES = 20, SHA1_HEX = 2 * SHA1_BYTES };

void sha1(struct span text, uint8_t ret_hash[SHA1_BYTES]);
