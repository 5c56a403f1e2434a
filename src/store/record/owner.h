/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/random.h"

/*
 * Who owns a claim: random bits that no other request has, so that a late owner
 * can be told from the present one (fencing).  Any thread.
 */
struct owner {
	uint8_t bytes[16];
};

/* Draws a new one. */
static inline void
owner_new(struct owner *ret_owner)
{
	random_bytes(ret_owner->bytes, sizeof ret_owner->bytes);
}
