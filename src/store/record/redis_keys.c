/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "store/record/redis_keys.h"

unsigned
redis_keys_shard(const struct conf *conf, const struct key_id *key_id)
{
	const uint8_t *b = key_id->bytes;
	uint32_t number = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	    (uint32_t)b[2] << 8 | b[3];
	return (unsigned)(number % (uint64_t)conf->store.shards);
}

void
redis_keys_index_of(struct resp *resp, const struct conf *conf, unsigned shard,
    const char *word, const char *name)
{
	char tag[DIGITS_MAX + 4] = ":{";
	size_t len = 2 + digits_put(tag + 2, shard);
	tag[len++] = '}';
	tag[len++] = ':';
	const struct span parts[] = {span_str(conf->store.prefix),
	    span_of(tag, len), span_str(word), span_str(name)};
	resp_joined(resp, parts, sizeof parts / sizeof *parts);
}

void
redis_keys_index(struct resp *resp, const struct conf *conf, unsigned shard,
    const char *word)
{
	redis_keys_index_of(resp, conf, shard, word, "");
}

void
redis_keys_names_init(struct shard_names *names, const struct conf *conf)
{
	size_t shards = (size_t)conf->store.shards;
	names->conf = conf;
	names->list = mem_zero(shards * sizeof *names->list);
}

void
redis_keys_names_free(struct shard_names *names)
{
	for (int64_t i = 0; i < names->conf->store.shards; i++) {
		free(names->list[i].record);
		resp_clear(&names->list[i].indexes);
	}
	free(names->list);
	names->list = NULL;
}

const struct shard_names_of *
redis_keys_names(struct shard_names *names, unsigned shard)
{
	struct shard_names_of *of = &names->list[shard];
	const struct conf *conf = names->conf;
	if (of->record != NULL)
		return of;
	of->record = mem_printf("%s:{%u}:r:", conf->store.prefix, shard);
	redis_keys_index(&of->indexes, conf, shard, "leases");
	of->leases_len = of->indexes.len;
	redis_keys_index(&of->indexes, conf, shard, "held");
	return of;
}

void
redis_keys_record(struct resp *resp, const struct shard_names_of *names,
    const struct key_id *key_id)
{
	char hex[DIGEST_HEX + 1];
	hex_encode(key_id->bytes, DIGEST_BYTES, hex);
	const struct span parts[] = {
	    span_str(names->record), span_of(hex, DIGEST_HEX)};
	resp_joined(resp, parts, 2);
}

void
redis_keys_entity(struct resp *resp, const struct conf *conf,
    const uint8_t name[DIGEST_BYTES])
{
	char text[DIGITS_MAX + 4 + DIGEST_HEX + 1];
	struct key_id like;
	memcpy(like.bytes, name, DIGEST_BYTES);
	size_t len = digits_put(text, redis_keys_shard(conf, &like));
	memcpy(text + len, "}:e:", 4);
	hex_encode(name, DIGEST_BYTES, text + len + 4);
	resp_arg(resp, span_of(text, len + 4 + DIGEST_HEX));
}

enum redis_keys_kind
redis_keys_kind(const struct conf *conf, struct span name)
{
	static const char *const indexes[] = {
	    "leases", "held", "events", "dead", "relayed"};
	static const char *const shared[] = {
	    "asking:", "label:", "leadership:", "pause:", "holds:", "kept:",
	    "floor:",
	    "letter:", "letters:", "lane:", "lanes:", "behind:", "written:",
	    "begun:", "trust:"};
	struct span prefix = span_str(conf->store.prefix), rest, digits;
	struct key_id key_id;
	int64_t shard;
	if (!span_starts(name, prefix) || name.len == prefix.len)
		return KEY_OTHER;
	/* "{12}:" exactly as redis_keys_index_of writes it. */
	rest = span_from(name, prefix.len + 1);
	if (!span_skip(&rest, SPAN("{")) || !span_cut(&rest, '}', &digits) ||
	    !span_skip(&rest, SPAN(":")) ||
	    !digits_read_exact(digits, conf->store.shards - 1, &shard))
		return KEY_OTHER;
	if (shard == 0 &&
	    (span_eq(rest, SPAN("store")) || span_eq(rest, SPAN("data"))))
		return KEY_INDEX;
	for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++)
		if (span_eq(rest, span_str(indexes[i])))
			return KEY_INDEX;
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		if (span_starts(rest, span_str(shared[i])))
			return KEY_INDEX;
	bool is_record = span_starts(rest, SPAN("r:"));
	if ((!is_record && !span_starts(rest, SPAN("e:")) &&
		!span_starts(rest, SPAN("o:"))) ||
	    !hex_decode(span_from(rest, 2), key_id.bytes, DIGEST_BYTES) ||
	    redis_keys_shard(conf, &key_id) != shard)
		return KEY_OTHER;
	return is_record ? KEY_RECORD : KEY_INDEX;
}
