/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* 24 bits. */
static void
put_four(char *at, uint32_t bits)
{
	at[0] = alphabet[bits >> 18 & 63];
	at[1] = alphabet[bits >> 12 & 63];
	at[2] = alphabet[bits >> 6 & 63];
	at[3] = alphabet[bits & 63];
}

/*
 * Each request encodes several.  libsodium's encoder is for keys: it takes the
 * same time whatever they are, and ten times as long.
 */
void
base64_url_encode(const uint8_t *bytes, size_t len, char *ret_text)
{
	char *at = ret_text, last[4];
	for (; len >= 3; bytes += 3, len -= 3, at += 4)
		put_four(at,
		    (uint32_t)(bytes[0] << 16 | bytes[1] << 8 | bytes[2]));
	/* The last bytes take one digit more than they are. */
	if (len > 0) {
		put_four(last, (uint32_t)(bytes[0] << 16 |
				   (len > 1 ? bytes[1] << 8 : 0)));
		memcpy(at, last, len + 1);
		at += len + 1;
	}
	*at = '\0';
}

struct span
base64_url_text(struct arena *arena, struct span bytes)
{
	char *text = arena_alloc(arena, (bytes.len + 2) / 3 * 4 + 1);
	base64_url_encode((const uint8_t *)bytes.ptr, bytes.len, text);
	return span_str(text);
}

char *
base64_encode(struct span bytes)
{
	size_t room = sodium_base64_encoded_len(bytes.len, BASE64);
	char *text = mem_zero(room);
	sodium_bin2base64(text, room, (const unsigned char *)bytes.ptr,
	    bytes.len, BASE64);
	return text;
}

bool
base64_decode(struct arena *arena, struct span text, enum base64 kind,
    struct span *ret_bytes)
{
	unsigned char *bytes = arena_alloc(arena, text.len + 1);
	size_t len;
	/* Without a place to tell where it ends, it takes all or nothing. */
	if (sodium_base642bin(bytes, text.len + 1, text.ptr, text.len, NULL,
		&len, NULL, (int)kind) != 0)
		return false;
	*ret_bytes = span_of(bytes, len);
	return true;
}
