/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>

#include "base/base64.h"
#include "base/mem.h"

/* The first of so many digits of 24 bits. */
static char *
put_digits(char *at, uint32_t bits, unsigned digits)
{
	static const char alphabet[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789-_";
	for (unsigned shift = 24; digits > 0; digits--) {
		shift -= 6;
		*at++ = alphabet[bits >> shift & 63];
	}
	return at;
}

/*
 * Each request has several.  What libsodium does for keys, in the same time
 * whatever they are, costs ten times as much.
 */
void
base64_encode(const uint8_t *bytes, size_t len, char *ret_text)
{
	char *at = ret_text;
	for (; len >= 3; bytes += 3, len -= 3)
		at = put_digits(at,
		    (uint32_t)(bytes[0] << 16 | bytes[1] << 8 | bytes[2]), 4);
	if (len == 2)
		at = put_digits(
		    at, (uint32_t)(bytes[0] << 16 | bytes[1] << 8), 3);
	else if (len == 1)
		at = put_digits(at, (uint32_t)(bytes[0] << 16), 2);
	*at = '\0';
}

char *
base64_text(struct span bytes)
{
	const int variant = sodium_base64_VARIANT_ORIGINAL;
	size_t room = sodium_base64_encoded_len(bytes.len, variant);
	char *text = mem_zero(room);
	sodium_bin2base64(text, room, (const unsigned char *)bytes.ptr,
	    bytes.len, variant);
	return text;
}
