/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/test_build.h"
#include "store/record/origin.h"
#include "store/redis/managed.h"

static void
digest_number(struct digest *digest, int64_t number)
{
	char digits[DIGITS_MAX];
	digest_part(digest, span_of(digits, digits_put(digits, number)));
}

void
origin_place(const struct conf *conf, uint8_t ret_place[DIGEST_BYTES])
{
	const struct conf_store *store = &conf->store;
	const struct strings *const lists[] = {
	    &store->redis.cluster, &store->redis.sentinels};
	struct digest digest;
	digest_begin(&digest, SPAN("place"), SPAN(""));
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		digest_number(&digest, (int64_t)lists[i]->count);
		for (size_t k = 0; k < lists[i]->count; k++)
			digest_part(&digest, span_str(lists[i]->list[k]));
	}
	if (store->redis.master != NULL)
		digest_part(&digest, span_str(store->redis.master));
	if (store->redis.managed) {
		char *socket = managed_socket(conf);
		digest_part(&digest, span_str(socket));
		free(socket);
	} else if (store->redis.address.host != NULL) {
		digest_part(&digest, span_str(store->redis.address.host));
		digest_number(&digest, store->redis.address.port);
	}
	digest_number(&digest, store->redis.db);
	digest_part(&digest, span_str(store->prefix));
	digest_number(&digest, store->shards);
	digest_end(&digest, ret_place);
}

void
origin_id(const struct conf *conf, struct span kept,
    uint8_t ret_id[DIGEST_BYTES])
{
	struct digest digest;
	digest_begin(&digest, SPAN("store"), SPAN(""));
	digest_part(&digest, kept);
	digest_number(&digest, conf->store.shards);
	digest_end(&digest, ret_id);
}

bool
origin_has_id(const struct origin *origin)
{
	return !sodium_is_zero(origin->id, DIGEST_BYTES);
}

bool
origin_is_ours(const struct origin *origin, const struct origin *ours)
{
	if (!INVARIANT(own_store) ||
	    sodium_is_zero(origin->place, DIGEST_BYTES) ||
	    memcmp(origin->place, ours->place, DIGEST_BYTES) == 0)
		return true;
	return origin_has_id(origin) &&
	    memcmp(origin->id, ours->id, DIGEST_BYTES) == 0;
}
