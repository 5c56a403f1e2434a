/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digest.h"
#include "base/must.h"

/*
 * A secret of any length becomes a key of the length that BLAKE2b takes;
 * without one the hash is not keyed.
 */
void
digest_begin(struct digest *digest, struct span label, struct span secret)
{
	uint8_t key[crypto_generichash_KEYBYTES];
	size_t key_bytes = 0;
	if (secret.len > 0) {
		key_bytes = sizeof key;
		crypto_generichash(key, sizeof key,
		    (const unsigned char *)secret.ptr, secret.len, NULL, 0);
	}
	crypto_generichash_init(
	    &digest->state, key_bytes ? key : NULL, key_bytes, DIGEST_BYTES);
	sodium_memzero(key, sizeof key);
	digest_part(digest, label);
}

void
digest_part(struct digest *digest, struct span part)
{
	uint8_t length[8];
	for (int i = 0; i < 8; i++)
		length[i] = (uint8_t)((uint64_t)part.len >> (8 * i));
	crypto_generichash_update(&digest->state, length, sizeof length);
	crypto_generichash_update(
	    &digest->state, (const unsigned char *)part.ptr, part.len);
}

void
digest_end(struct digest *digest, uint8_t ret_hash[DIGEST_BYTES])
{
	crypto_generichash_final(&digest->state, ret_hash, DIGEST_BYTES);
}
