/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>

#include "base/digits.h"
#include "base/random.h"
#include "base/test_build.h"
#include "store/names.h"

unsigned
shard_of(const struct conf *conf, const struct key_id *key_id)
{
	const uint8_t *b = key_id->bytes;
	uint32_t number = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	    (uint32_t)b[2] << 8 | b[3];
	return (unsigned)(number % (uint64_t)conf->store.shards);
}

static void
put_name(struct resp *resp, const struct conf *conf, unsigned shard,
    const char *word, const char *id)
{
	char tag[DIGITS_MAX + 4] = ":{";
	size_t len = 2 + digits_put(tag + 2, shard);
	tag[len++] = '}';
	tag[len++] = ':';
	const struct span parts[] = {span_str(conf->store.prefix),
	    span_of(tag, len), span_str(word), span_str(id)};
	resp_joined(resp, parts, sizeof parts / sizeof *parts);
}

void
name_record(
    struct resp *resp, const struct conf *conf, const struct key_id *key_id)
{
	char hex[DIGEST_HEX + 1];
	hex_encode(key_id->bytes, DIGEST_BYTES, hex);
	put_name(resp, conf, shard_of(conf, key_id), "r:", hex);
}

void
name_index(struct resp *resp, const struct conf *conf, unsigned shard,
    const char *word)
{
	put_name(resp, conf, shard, word, "");
}

/* A field's name is the same however its letters are written. */
static void
digest_name(struct digest *digest, struct span name)
{
	char lower[256];
	size_t len = name.len < sizeof lower ? name.len : sizeof lower;
	for (size_t i = 0; i < len; i++)
		lower[i] = (char)tolower((unsigned char)name.ptr[i]);
	digest_part(digest, span_of(lower, len));
}

void
store_key_id(const struct conf *conf, struct span namespace,
    const struct strings *scope, const struct span *values, struct span key,
    struct key_id *ret_id)
{
	struct digest digest;
	digest_begin(&digest, SPAN("key"), span_str(conf->store.secret));
	digest_part(&digest, namespace);
	for (size_t i = 0; i < scope->count && GUARD(scope_in_name); i++) {
		digest_name(&digest, span_str(scope->list[i]));
		digest_part(&digest, values[i]);
	}
	digest_part(&digest, key);
	digest_end(&digest, ret_id->bytes);
}

void
owner_new(struct owner *ret_owner)
{
	random_bytes(ret_owner->bytes, sizeof ret_owner->bytes);
}
