/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "messages/shared/letter_codec.h"

/*
 * What a letter is called: the hash of its message's position, and its lane.
 * Any thread.
 */

/* The digest of the value that a message is ordered by. */
struct letters_lane {
	uint8_t bytes[DIGEST_BYTES];
};

/* The name of the letter of that position; lane NULL: it stands alone. */
struct letter_name letter_name_of(
    struct span position, const struct letters_lane *lane);

/* As Redis has it: in hex, a lane of dashes or none where it stands alone. */
bool letter_name_read(
    struct span id, struct span lane, struct letter_name *ret_name);
