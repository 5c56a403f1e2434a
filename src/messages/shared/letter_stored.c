/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/error.h"
#include "base/hex.h"
#include "messages/shared/letter_stored.h"
#include "store/record/redis_keys.h"
#include "store/record/seal.h"

enum { KEYS = 7 };

/* --- calls --- */

unsigned
letter_stored_shard(const struct shared *shared, const struct letter_name *name)
{
	struct digest digest;
	struct key_id of;
	digest_begin(&digest, SPAN("letters"), SPAN(""));
	digest_part(&digest, span_str(shared->name));
	digest_part(&digest, span_of(name->lane, DIGEST_BYTES));
	digest_end(&digest, of.bytes);
	return redis_keys_shard(shared->store->conf, &of);
}

struct store_call *
letter_stored_call(
    const struct shared *of, unsigned shard, enum script script, size_t n_argv)
{
	static const char *const words[KEYS][2] = {{"letter", ":"},
	    {"lane", ":"}, {"lanes", ""}, {"letters", ""}, {"behind", ""},
	    {"written", ""}, {"begun", ""}};
	struct shared shared = *of;
	shared.shard = shard;
	struct store_call *call =
	    shared_call(&shared, script, 1 + KEYS + n_argv);
	resp_number(&call->args, KEYS);
	for (size_t i = 0; i < KEYS; i++)
		shared_arg_key(&shared, call, words[i][0], words[i][1]);
	return call;
}

void
letter_stored_arg_digest(
    struct store_call *call, const uint8_t digest[DIGEST_BYTES])
{
	char hex[DIGEST_HEX + 1];
	hex_encode(digest, DIGEST_BYTES, hex);
	resp_arg(&call->args, span_of(hex, DIGEST_HEX));
}

/* --- what is stored --- */

/* So that no letter opens as another's. */
static struct seal_about
seal_of(const struct shared *shared, const uint8_t id[DIGEST_BYTES])
{
	struct seal_about about = {.kind = SEAL_LETTER};
	struct digest digest;
	digest_begin(&digest, SPAN("letter"), SPAN(""));
	digest_part(&digest, span_str(shared->name));
	digest_part(&digest, span_of(id, DIGEST_BYTES));
	digest_end(&digest, about.key_id.bytes);
	return about;
}

void
letter_stored_arg_sealed(struct store_call *call, const struct shared *shared,
    const uint8_t id[DIGEST_BYTES], char *bytes, size_t len)
{
	const struct conf_store *conf = &shared->store->conf->store;
	char *sealed = bytes;
	if (conf->n_encryption_keys > 0) {
		const struct seal_about about = seal_of(shared, id);
		seal_close(conf, &about, span_of(bytes, len), &sealed, &len);
		free(bytes);
	}
	resp_arg(&call->args, span_of(sealed, len));
	free(sealed);
}

bool
letter_stored_open(const struct shared *shared, struct arena *arena,
    const uint8_t id[DIGEST_BYTES], struct span stored, struct span *ret_text)
{
	const struct conf_store *conf = &shared->store->conf->store;
	const struct seal_about about = seal_of(shared, id);
	struct span key;
	char *plain = NULL;
	size_t len;
	*ret_text = SPAN("");
	if (seal_key_of(stored, &key)) {
		if (seal_open(conf, &about, stored, &plain, &len) != 0)
			return true;
		stored = span_of(plain, len);
	} else if (conf->encryption_strict) {
		return true;
	}
	char *copy = arena_dup_large(arena, stored);
	*ret_text = span_of(copy, stored.len);
	free(plain);
	return copy != NULL;
}

bool
letter_stored_read_head(struct letter *letter, struct span head)
{
	struct letter read = *letter;
	if (!letter_codec_read_head(head, &read))
		return false;
	struct letter_name name = letter_name_of(read.position, NULL);
	if (memcmp(name.id, letter->name.id, DIGEST_BYTES) != 0)
		return false;
	*letter = read;
	return true;
}

bool
letter_stored_read_state(struct span word, enum letter_state *ret_state)
{
	static const char *const words[] = {[LETTER_WRITTEN] = "written",
	    [LETTER_CONFIRMED] = "confirmed",
	    [LETTER_BEGUN] = "begun"};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (span_eq(word, span_str(words[i]))) {
			*ret_state = (enum letter_state)i;
			return true;
		}
	return false;
}

bool
letter_stored_read_said(const struct call_reply *reply, size_t at,
    struct arena *arena, size_t reason, struct letter *letter)
{
	*letter = (struct letter){.position = SPAN(""),
	    .key_id = SPAN(""),
	    .route = SPAN(""),
	    .detail = SPAN(""),
	    .label = SPAN(""),
	    .time_ms = -1};
	letter->put_ms = shared_number(reply, at + SAID_PUT);
	letter->parked = call_reply_text(reply, at + SAID_PARKED).len > 0;
	letter->reason = arena_dup(arena, call_reply_text(reply, at + reason));
	return letter->put_ms >= 0 &&
	       letter_name_read(call_reply_text(reply, at + SAID_ID),
		   call_reply_text(reply, at + SAID_LANE), &letter->name) &&
	       letter_stored_read_state(
		   call_reply_text(reply, at + SAID_STATE), &letter->state);
}
