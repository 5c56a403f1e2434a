/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digest.h"
#include "conf/show.h"
#include "load/source_private.h"

/*
 * What is configured of a source and of its broker, as a digest: a reload that
 * changes it begins the source anew.
 */

static void
add_json(struct digest *digest, const json_t *value)
{
	char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_SORT_KEYS);
	digest_part(digest, span_str(text));
	free(text);
}

/* What is not shown. */
static void
add_secrets(struct digest *digest, const struct conf_source *source)
{
	const struct conf_redis_tls *tls = &source->broker->redis.tls;
	digest_part(digest, span_str(source->broker->password));
	digest_part(digest,
	    span_of((const char *)tls->digest, sizeof tls->digest));
	for (size_t i = 0; i < source->request.n_headers; i++)
		digest_part(
		    digest, span_str(source->request.headers[i].secret));
}

void
source_digest_all(struct conf *conf)
{
	json_t *shown = conf->n_sources > 0 ? show_conf(conf) : NULL;
	json_t *sources = json_object_get(shown, "sources");
	json_t *brokers = json_object_get(shown, "brokers");
	for (size_t i = 0; i < conf->n_sources; i++) {
		struct conf_source *source = &conf->sources[i];
		struct digest digest;
		digest_begin(&digest, SPAN("source"), SPAN(""));
		add_json(&digest, json_object_get(sources, source->name));
		add_json(&digest,
		    json_object_get(brokers, source->broker->name));
		add_secrets(&digest, source);
		digest_end(&digest, source->digest);
	}
	json_decref(shown);
}
