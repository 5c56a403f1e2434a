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

void
hex_encode(const uint8_t *bytes, size_t len, char *ret_hex)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < len; i++) {
		ret_hex[2 * i] = digits[bytes[i] >> 4];
		ret_hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	ret_hex[2 * len] = '\0';
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

bool
hex_decode(struct span s, uint8_t *ret_bytes, size_t len)
{
	if (s.len != 2 * len)
		return false;
	for (size_t i = 0; i < s.len; i++)
		if (hex_value(s.ptr[i]) < 0)
			return false;
	for (size_t i = 0; i < len; i++)
		ret_bytes[i] = (uint8_t)(hex_value(s.ptr[2 * i]) << 4 |
		    hex_value(s.ptr[2 * i + 1]));
	return true;
}

void
base64_encode(const uint8_t *bytes, size_t len, char *ret_text)
{
	const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
	sodium_bin2base64(ret_text, sodium_base64_encoded_len(len, variant),
	    bytes, len, variant);
}
