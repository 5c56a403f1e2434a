/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Eight bytes read as one number: quick proofs that none of them is special.
 * True means "perhaps", and the caller checks each byte by itself; false is
 * certain, where nothing else is said.  Pure; any thread.
 */
#define SWAR_ONES ((uint64_t)0x0101010101010101u)
#define SWAR_HIGHS ((uint64_t)0x8080808080808080u)

static inline uint64_t
swar_at(const char *bytes)
{
	uint64_t word;
	memcpy(&word, bytes, sizeof word);
	return word;
}

/*
 * True where one of them may be that byte, which is below 128.  A byte borrows
 * in the subtraction from the next one only where it is itself that byte.
 */
static inline bool
swar_may_have(uint64_t word, unsigned char byte)
{
	word ^= byte * SWAR_ONES;
	return ((word - SWAR_ONES) & ~word & SWAR_HIGHS) != 0;
}

/*
 * Certain where true: each byte is 0x20 to 0x7e.  One is carried into a byte's
 * highest bit by 0x7f alone while none is above it, and borrowed for it where
 * the byte is below 0x20.
 */
static inline bool
swar_is_printable(uint64_t word)
{
	return ((word | (word + SWAR_ONES) | (word - 0x20 * SWAR_ONES)) &
		   SWAR_HIGHS) == 0;
}
