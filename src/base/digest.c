/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <string.h>

#include "base/digest.h"

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
	if (key_bytes > 0)
		sodium_memzero(key, sizeof key);
	digest->n_gathered = 0;
	digest_part(digest, label);
}

static void
hash_gathered(struct digest *digest)
{
	crypto_generichash_update(
	    &digest->state, digest->gathered, digest->n_gathered);
	digest->n_gathered = 0;
}

void
digest_part(struct digest *digest, struct span part)
{
	uint64_t length = htole64(part.len);
	size_t room = sizeof digest->gathered - digest->n_gathered;
	if (room < sizeof length || room - sizeof length < part.len)
		hash_gathered(digest);
	uint8_t *at = digest->gathered + digest->n_gathered;
	memcpy(at, &length, sizeof length);
	digest->n_gathered += sizeof length;
	if (part.len > sizeof digest->gathered - sizeof length) {
		hash_gathered(digest);
		crypto_generichash_update(&digest->state,
		    (const unsigned char *)part.ptr, part.len);
	} else if (part.len > 0) {
		memcpy(at + sizeof length, part.ptr, part.len);
		digest->n_gathered += part.len;
	}
}

void
digest_end(struct digest *digest, uint8_t ret_hash[DIGEST_BYTES])
{
	hash_gathered(digest);
	crypto_generichash_final(&digest->state, ret_hash, DIGEST_BYTES);
	/* There may be tokens among the parts. */
	sodium_memzero(digest->gathered, sizeof digest->gathered);
}
