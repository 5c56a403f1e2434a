/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/digest.h"
#include "base/hex.h"
#include "base/mem.h"
#include "messages/broker/kafka/kafka_name.h"

/* The beginning of a digest of what distinguishes a name from others. */
enum { BRIEF_HEX = 8 };

static void
brief_digest(struct digest *digest, char brief[BRIEF_HEX + 1])
{
	uint8_t hash[DIGEST_BYTES];
	char hex[DIGEST_HEX + 1];
	digest_end(digest, hash);
	hex_encode(hash, sizeof hash, hex);
	snprintf(brief, BRIEF_HEX + 1, "%.*s", BRIEF_HEX, hex);
}

/*
 * So that a gateway that died and is started again has its partitions at once,
 * where its group would else wait for the end of its session.  The topics are
 * in it, as a broker gives such a member what it had, whatever it subscribes
 * to.
 */
char *
kafka_name_member(const struct conf_source *source, const char *instance)
{
	const struct strings *topics = &source->topics;
	char brief[BRIEF_HEX + 1];
	struct digest digest;
	digest_begin(&digest, SPAN("kafka topics"), SPAN(""));
	for (size_t i = 0; i < topics->count; i++)
		digest_part(&digest, span_str(topics->list[i]));
	brief_digest(&digest, brief);
	return mem_printf("%s.%s.%s", source->name, instance, brief);
}

/*
 * Whoever comes back under that name ends what was left open under it.  The
 * group is in it, as a broker knows nothing of groups there: those of two
 * groups would end each other's.  Where another gateway has the name of this
 * one in the group, it also has this.
 */
char *
kafka_name_transactional(const struct conf_source *source, const char *instance)
{
	char brief[BRIEF_HEX + 1];
	struct digest digest;
	digest_begin(&digest, SPAN("kafka transactions"), SPAN(""));
	digest_part(&digest, span_str(source->group));
	digest_part(&digest, span_str(source->name));
	digest_part(&digest, span_str(instance));
	brief_digest(&digest, brief);
	return mem_printf("onceproxy-%s-%s-%s", source->name, instance, brief);
}

char *
kafka_name_relay(const char *relay, struct span store)
{
	return mem_printf(
	    "onceproxy-relay-%s-%.*s", relay, SPAN_FMT(store));
}
