/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

/*
 * Base64 without padding, URL alphabet (RFC 4648, section 5), with a NUL; for
 * what is no key: how long it takes may tell what the bytes are.  Pure.
 */
void base64_encode(const uint8_t *bytes, size_t len, char *ret_text);
/*
 * With padding, in the standard alphabet (section 4), as JSON has bytes that
 * are no text; the caller frees it.
 */
char *base64_text(struct span bytes);
