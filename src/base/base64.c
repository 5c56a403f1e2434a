/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>

#include "base/base64.h"
#include "base/mem.h"

void
base64_encode(const uint8_t *bytes, size_t len, char *ret_text)
{
	const int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
	sodium_bin2base64(ret_text, sodium_base64_encoded_len(len, variant),
	    bytes, len, variant);
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
