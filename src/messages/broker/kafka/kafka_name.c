/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/digest.h"
#include "base/hex.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_name.h"

/* The beginning of a digest of what distinguishes a name from others. */
enum { BRIEF_HEX = 8 };

const char *
kafka_name_dead(
    const struct conf_source *source, struct span topic, struct arena *arena)
{
	return source->dead_letters != NULL
	    ? arena_dup(arena, span_str(source->dead_letters)).ptr
	    : arena_printf(arena, "%.*s.dead", SPAN_FMT(topic)).ptr;
}

/*
 * Whoever comes back under that name ends what was left open under it.  The
 * group is in it, as a broker knows nothing of groups there: those of two
 * groups would end each other's.
 */
char *
kafka_name_transactional(const struct conf_source *source, const char *instance)
{
	uint8_t hash[DIGEST_BYTES];
	char hex[DIGEST_HEX + 1];
	struct digest digest;
	digest_begin(&digest, SPAN("kafka transactions"), SPAN(""));
	digest_part(&digest, span_str(source->group));
	digest_part(&digest, span_str(source->name));
	digest_part(&digest, span_str(instance));
	digest_end(&digest, hash);
	hex_encode(hash, sizeof hash, hex);
	return mem_printf(
	    "onceproxy-%s-%s-%.*s", source->name, instance, BRIEF_HEX, hex);
}

char *
kafka_name_relay(const char *relay, struct span store)
{
	return mem_printf("onceproxy-relay-%s-%.*s", relay, SPAN_FMT(store));
}
