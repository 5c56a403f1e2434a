/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdint.h>
#include <string.h>

#include "base/random.h"

/* To ask libsodium each time would cost more than the bytes do. */
static _Thread_local struct {
	uint8_t bytes[512];
	size_t left; /* at the end */
} block;

void
random_bytes(void *to, size_t len)
{
	if (len > sizeof block.bytes) {
		randombytes_buf(to, len);
		return;
	}
	if (len > block.left) {
		randombytes_buf(block.bytes, sizeof block.bytes);
		block.left = sizeof block.bytes;
	}
	uint8_t *from = block.bytes + sizeof block.bytes - block.left;
	memcpy(to, from, len);
	sodium_memzero(from, len);
	block.left -= len;
}
