/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
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
	return le64toh(word);
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
 * How many bytes from the front on are letters or "-", as most are in a field's
 * name: so many for certain.  Up to the first byte that has its highest bit
 * nothing is carried into the next one; letters are compared as small ones,
 * which no other byte becomes.
 */
static inline size_t
swar_name_bytes(uint64_t word)
{
	uint64_t small = word | 0x20 * SWAR_ONES;
	uint64_t from_a = small + (0x80 - 'a') * SWAR_ONES;
	uint64_t behind_z = small + (0x7f - 'z') * SWAR_ONES;
	uint64_t no_dash = (word ^ '-' * SWAR_ONES) + 0x7f * SWAR_ONES;
	uint64_t good = (from_a & ~behind_z) | ~no_dash;
	uint64_t others = (word | ~good) & SWAR_HIGHS;
	return others != 0 ? (size_t)__builtin_ctzll(others) / 8 : 8;
}

/*
 * How many bytes from the front on are 0x20 to 0x7e: so many for certain.  Up
 * to the first other one nothing is carried or borrowed: one is carried into a
 * byte's highest bit by 0x7f alone, and borrowed for it where the byte is below
 * 0x20.
 */
static inline size_t
swar_printable_bytes(uint64_t word)
{
	uint64_t others =
	    (word | (word + SWAR_ONES) | (word - 0x20 * SWAR_ONES)) &
	    SWAR_HIGHS;
	return others != 0 ? (size_t)__builtin_ctzll(others) / 8 : 8;
}
