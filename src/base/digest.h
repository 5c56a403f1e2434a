/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <sodium.h>
#include <stdint.h>

#include "base/hex.h"
#include "base/span.h"

/*
 * Hashes over lists of parts, each with its length in front of it, so that
 * no two lists can blur into one another: BLAKE2b (RFC 7693) of 16 bytes by
 * libsodium, keyed where there is a secret.  Any thread.
 */
enum { DIGEST_BYTES = 16, DIGEST_HEX = 2 * DIGEST_BYTES };

struct digest {
	crypto_generichash_state state;
	/* Short parts are gathered here, as a call for each costs more. */
	uint8_t gathered[256];
	size_t n_gathered;
};

/* The label separates uses: no two of them ever hash the same bytes. */
void digest_begin(struct digest *digest, struct span label, struct span secret);
void digest_part(struct digest *digest, struct span part);
void digest_end(struct digest *digest, uint8_t ret_hash[DIGEST_BYTES]);
