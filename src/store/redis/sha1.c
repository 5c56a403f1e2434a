/* SPDX-License-Identifier: BSD-2-Clause */
#include "store/redis/sha1.h"

enum { BLOCK_BYTES = 64 };

static uint32_t
rotated(uint32_t word, int bits)
{
	return word << bits | word >> (32 - bits);
}

/* RFC 3174, section 6.1, method 1. */
static void
add_block(uint32_t hash[5], const uint8_t block[BLOCK_BYTES])
{
	uint32_t w[80];
	for (int t = 0; t < 16; t++)
		w[t] = (uint32_t)block[4 * t] << 24 |
		    (uint32_t)block[4 * t + 1] << 16 |
		    (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
	for (int t = 16; t < 80; t++)
		w[t] = rotated(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);

	uint32_t a = hash[0], b = hash[1], c = hash[2], d = hash[3];
	uint32_t e = hash[4];
	for (int t = 0; t < 80; t++) {
		uint32_t f, k;
		if (t < 20)
			f = (b & c) | (~b & d), k = 0x5a827999;
		else if (t < 40)
			f = b ^ c ^ d, k = 0x6ed9eba1;
		else if (t < 60)
			f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
		else
			f = b ^ c ^ d, k = 0xca62c1d6;
		uint32_t sum = rotated(a, 5) + f + e + w[t] + k;
		e = d;
		d = c;
		c = rotated(b, 30);
		b = a;
		a = sum;
	}
	hash[0] += a;
	hash[1] += b;
	hash[2] += c;
	hash[3] += d;
	hash[4] += e;
}

void
sha1(struct span text, uint8_t ret_hash[SHA1_BYTES])
{
	uint32_t hash[5] = {
	    0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	uint64_t bits = (uint64_t)text.len * 8;
	for (; text.len >= BLOCK_BYTES; text = span_from(text, BLOCK_BYTES))
		add_block(hash, (const uint8_t *)text.ptr);

	/* Section 4: what is left, a one bit, zeros, and the length in bits. */
	uint8_t end[2 * BLOCK_BYTES] = {0};
	if (text.len > 0)
		memcpy(end, text.ptr, text.len);
	end[text.len] = 0x80;
	size_t blocks = text.len + 1 + 8 > BLOCK_BYTES ? 2 : 1;
	for (size_t i = 0; i < 8; i++)
		end[blocks * BLOCK_BYTES - 1 - i] = (uint8_t)(bits >> (8 * i));
	for (size_t i = 0; i < blocks; i++)
		add_block(hash, end + i * BLOCK_BYTES);

	for (int i = 0; i < SHA1_BYTES; i++)
		ret_hash[i] = (uint8_t)(hash[i / 4] >> (24 - 8 * (i % 4)));
}
