/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hex.h"
#include "messages/shared/letter_name.h"

#define ALONE "--------------------------------"

struct letter_name
letter_name_of(struct span position, const struct letters_lane *lane)
{
	struct letter_name name = {.in_order = lane != NULL};
	struct digest digest;
	digest_begin(&digest, SPAN("letter"), SPAN(""));
	digest_part(&digest, position);
	digest_end(&digest, name.id);
	memcpy(name.lane, lane != NULL ? lane->bytes : name.id, DIGEST_BYTES);
	return name;
}

bool
letter_name_read(struct span id, struct span lane, struct letter_name *ret_name)
{
	if (!hex_decode(id, ret_name->id, DIGEST_BYTES))
		return false;
	ret_name->in_order = lane.len > 0 && !span_eq(lane, SPAN(ALONE));
	if (ret_name->in_order)
		return hex_decode(lane, ret_name->lane, DIGEST_BYTES);
	memcpy(ret_name->lane, ret_name->id, DIGEST_BYTES);
	return true;
}
