/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sodium.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/must.h"
#include "base/span.h"

/*
 * Base64 in the standard alphabet with padding (RFC 4648, section 4), and in
 * the URL alphabet without (section 5).  Not for keys: how long it takes may
 * tell what the bytes are; those are read by libsodium where they are kept.
 * Pure.
 */
enum base64 {
	BASE64 = sodium_base64_VARIANT_ORIGINAL,
	BASE64_URL = sodium_base64_VARIANT_URLSAFE_NO_PADDING,
};

/* With a NUL; the caller frees it. */
char *base64_encode(struct span bytes);
/* Room for 4 characters of each 3 bytes that are begun, and a NUL. */
void base64_url_encode(const uint8_t *bytes, size_t len, char *ret_text);
/* The same, in the arena. */
struct span base64_url_text(struct arena *arena, struct span bytes);
/* The bytes are in the arena; false: the text is none, or not all of it. */
MUST_USE bool base64_decode(struct arena *arena, struct span text,
    enum base64 kind, struct span *ret_bytes);
