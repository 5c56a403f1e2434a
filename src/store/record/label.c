/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base64.h"
#include "base/digest.h"
#include "store/record/label.h"
#include "store/record/seal.h"

struct span
label_write(struct arena *arena, const struct conf_store *conf,
    const struct key_id *key_id, struct span text)
{
	if (text.len == 0)
		return SPAN("");
	text = provenance_cut(arena, text, LABEL_MAX_BYTES);
	if (conf->n_encryption_keys == 0)
		return arena_printf(arena, "=%.*s", SPAN_FMT(text));
	const struct seal_about about = {
	    .key_id = *key_id, .kind = SEAL_LABEL};
	return seal_close_text(arena, conf, &about, text);
}

bool
label_read(struct arena *arena, const struct conf_store *conf,
    const struct key_id *key_id, struct span stored, struct span *ret_text)
{
	if (stored.len == 0)
		return false;
	if (stored.ptr[0] == '=') {
		*ret_text = span_from(stored, 1);
		return true;
	}
	const struct seal_about about = {
	    .key_id = *key_id, .kind = SEAL_LABEL};
	return seal_open_text(arena, conf, &about, stored, ret_text);
}

bool
label_index(const struct conf_store *conf, struct span text, size_t nth,
    char ret_name[LABEL_INDEX_CHARS + 1])
{
	uint8_t hash[DIGEST_BYTES];
	struct digest digest;
	struct span secret = span_str(conf->secret);
	if (secret.len == 0 && nth < conf->n_encryption_keys)
		secret = span_of((const char *)conf->encryption_keys[nth].key,
		    CONF_ENCRYPTION_KEY_BYTES);
	else if (nth > 0)
		return false;
	digest_begin(&digest, SPAN("label"), secret);
	digest_part(&digest, text);
	digest_end(&digest, hash);
	base64_url_encode(hash, sizeof hash, ret_name);
	return true;
}

void
label_log(struct logline *line, const struct conf_store *conf,
    const struct key_id *key_id, const struct provenance *from)
{
	struct span label;
	struct arena *scratch = arena_new();
	if (from->request_id.len > 0)
		log_span(line, "request_id", from->request_id);
	if (label_read(scratch, conf, key_id, from->label, &label))
		log_span(line, "label", label);
	arena_free(&scratch);
}
