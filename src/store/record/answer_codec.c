/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/loop/log.h"
#include "base/test_build.h"
#include "store/record/answer_codec.h"

void
answer_codec_init(struct answer_codec *codec, const struct conf_store *conf,
    struct budget *budget)
{
	*codec = (struct answer_codec){.conf = conf, .budget = budget};
	codec->decompress = ZSTD_createDCtx();
	must(codec->decompress != NULL);
	if (!conf->compression)
		return;
	codec->compress = ZSTD_createCCtx();
	must(codec->compress != NULL);
}

void
answer_codec_end(struct answer_codec *codec)
{
	ZSTD_freeCCtx(codec->compress);
	ZSTD_freeDCtx(codec->decompress);
	*codec = (struct answer_codec){0};
}

void
answer_codec_write(const struct answer_codec *codec,
    const struct seal_about *about, const struct answer *answer,
    char **ret_bytes, size_t *ret_len)
{
	const struct conf_store *conf = codec->conf;
	char *plain;
	size_t len;
	record_encode(answer, codec->compress, &plain, &len);
	if (conf->n_encryption_keys == 0) {
		*ret_bytes = plain;
		*ret_len = len;
		return;
	}
	seal_close(conf, about, span_of(plain, len), ret_bytes, ret_len);
	free(plain);
}

static void
log_about(enum event event, const struct key_id *key_id, struct span id)
{
	char hex[DIGEST_HEX + 1];
	hex_encode(key_id->bytes, DIGEST_BYTES, hex);
	struct logline line = log_begin(event);
	log_str(&line, "key_id", hex);
	if (id.len > 0)
		log_span(&line, "encryption_key", id);
	log_end(&line);
}

void
answer_codec_log_broken(const struct key_id *key_id)
{
	log_about(EV_record_broken, key_id, SPAN(""));
}

static int
read_sealed(const struct answer_codec *codec, const struct key_id *key_id,
    const struct record *record, struct answer **ret_answer)
{
	struct seal_about about = seal_about_record(key_id, record);
	char *plain;
	size_t len;
	int error = seal_open(
	    codec->conf, &about, record->rest, &plain, &len);
	if (error != 0)
		return error;
	error = record_decode(span_of(plain, len), codec->decompress,
	    codec->budget, ret_answer);
	free(plain);
	return error;
}

static int
read_plain(const struct answer_codec *codec, const struct record *record,
    struct answer **ret_answer)
{
	if (codec->conf->encryption_strict && INVARIANT(plain_refused))
		return E_PLAIN;
	return record_decode(
	    record->rest, codec->decompress, codec->budget, ret_answer);
}

int
answer_codec_read(const struct answer_codec *codec,
    const struct key_id *key_id, const struct record *record,
    struct answer **ret_answer)
{
	struct span id = SPAN("");
	int error = seal_key_of(record->rest, &id)
	    ? read_sealed(codec, key_id, record, ret_answer)
	    : read_plain(codec, record, ret_answer);
	if (error == E_PLAIN)
		log_about(EV_answer_not_encrypted, key_id, id);
	else if (error == E_NO_KEY)
		log_about(EV_encryption_key_missing, key_id, id);
	else if (error == E_SEALED)
		log_about(EV_answer_not_authentic, key_id, id);
	return error;
}

bool
answer_codec_is_shut(int error)
{
	return error == E_PLAIN || error == E_NO_KEY || error == E_SEALED;
}
