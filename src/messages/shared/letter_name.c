/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/hex.h"
#include "messages/shared/letters.h"
#include "store/record/redis_keys.h"

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

unsigned
letter_name_shard(const struct letters *letters, const struct letter_name *name)
{
	struct digest digest;
	struct key_id of;
	digest_begin(&digest, SPAN("letters"), SPAN(""));
	digest_part(&digest, span_str(letters->shared.name));
	digest_part(&digest, span_of(name->lane, DIGEST_BYTES));
	digest_end(&digest, of.bytes);
	return redis_keys_shard(letters->shared.store->conf, &of);
}

bool
letter_name_read(
    struct span id, struct span lane, struct letter_name *ret_name)
{
	if (!hex_decode(id, ret_name->id, DIGEST_BYTES))
		return false;
	ret_name->in_order = lane.len > 0 && !span_eq(lane, SPAN(ALONE));
	if (ret_name->in_order)
		return hex_decode(lane, ret_name->lane, DIGEST_BYTES);
	memcpy(ret_name->lane, ret_name->id, DIGEST_BYTES);
	return true;
}
