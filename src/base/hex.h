/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* Bytes as hex digits, and back.  Pure; any thread. */

/* Lower-case hex; hex has 2 * len bytes and a NUL. */
void hex_encode(const uint8_t *bytes, size_t len, char *ret_hex);
/* The reverse of it; false where s is not 2 * len digits. */
bool hex_decode(struct span s, uint8_t *ret_bytes, size_t len);
