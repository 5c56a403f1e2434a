/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sodium.h>
#include <stdint.h>

#include "base/span.h"

/*
 * Hashes over lists of parts, each with its length in front of it, so that
 * no two lists can blur into one another: BLAKE2b (RFC 7693) of 16 bytes by
 * libsodium, keyed where there is a secret.  Any thread.
 */
enum { DIGEST_BYTES = 16, DIGEST_HEX = 2 * DIGEST_BYTES };

struct digest {
	crypto_generichash_state state;
};

/* The label separates uses: no two of them ever hash the same bytes. */
void digest_begin(struct digest *digest, struct span label, struct span secret);
void digest_part(struct digest *digest, struct span part);
void digest_end(struct digest *digest, uint8_t ret_hash[DIGEST_BYTES]);

/* Lower-case hex; hex has 2 * len bytes and a NUL. */
void hex_encode(const uint8_t *bytes, size_t len, char *ret_hex);
/* The reverse of it; false where s is not 2 * len digits. */
bool hex_decode(struct span s, uint8_t *ret_bytes, size_t len);
/* Base64 without padding, URL alphabet (RFC 4648, section 5). */
void base64_encode(const uint8_t *bytes, size_t len, char *ret_text);
