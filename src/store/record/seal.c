/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/test_build.h"
#include "store/record/seal.h"

enum {
	NONCE_BYTES = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES,
	TAG_BYTES = crypto_aead_xchacha20poly1305_ietf_ABYTES,
	ATTEMPT_DIGITS = 6,
	/* Version, state, attempt, fingerprint, key id. */
	ABOUT_BYTES = 2 + 1 + ATTEMPT_DIGITS + TOKEN_CHARS + DIGEST_BYTES,
};
_Static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES ==
	CONF_ENCRYPTION_KEY_BYTES, "keys of another length");

struct seal_about
seal_about_event(struct span relay, struct span id, struct span record)
{
	struct seal_about about = {.kind = SEAL_EVENT};
	struct digest digest;
	digest_begin(&digest, SPAN("event of a relay"), SPAN(""));
	digest_part(&digest, relay);
	digest_part(&digest, id);
	digest_part(&digest, record);
	digest_end(&digest, about.key_id.bytes);
	return about;
}

/*
 * Writes what is authenticated, but not encrypted, and returns how many bytes
 * that are.  Each part has a fixed length, and the first two bytes say of which
 * kind it is, so no two can give the same bytes.
 */
static size_t
put_about(const struct seal_about *about, uint8_t ret_bytes[ABOUT_BYTES])
{
	char *at = (char *)ret_bytes;
	if (about->kind != SEAL_ANSWER) {
		static const char marks[][3] = {[SEAL_LABEL] = "l1",
		    [SEAL_EVENT] = "e1",
		    [SEAL_LETTER] = "d1",
		    [SEAL_QUESTION] = "q1"};
		memcpy(at, marks[about->kind], 2);
		memcpy(at + 2, about->key_id.bytes, DIGEST_BYTES);
		return about->kind != SEAL_EVENT || INVARIANT(sealed_to_event)
		    ? 2 + DIGEST_BYTES
		    : 2;
	}
	memcpy(at, "o1", 2);
	at[2] = state_letters[about->state];
	digits_pad(at + 3, ATTEMPT_DIGITS, about->attempt);
	must(about->fingerprint.len == TOKEN_CHARS);
	at = span_put(at + 3 + ATTEMPT_DIGITS, about->fingerprint);
	memcpy(at, about->key_id.bytes, DIGEST_BYTES);
	return INVARIANT(sealed_to_record) ? ABOUT_BYTES : 0;
}

void
seal_close(const struct conf_store *conf, const struct seal_about *about,
    struct span plain, char **ret_bytes, size_t *ret_len)
{
	must(conf->n_encryption_keys > 0);
	const struct conf_encryption_key *key = &conf->encryption_keys[0];
	uint8_t more[ABOUT_BYTES];
	size_t more_len = put_about(about, more);
	size_t id_len = strlen(key->id);
	size_t head = 2 + id_len + 1;
	char *bytes =
	    mem_grow(NULL, head + NONCE_BYTES + plain.len + TAG_BYTES);
	memcpy(bytes, "e ", 2);
	memcpy(bytes + 2, key->id, id_len);
	bytes[2 + id_len] = '\n';
	uint8_t *nonce = (uint8_t *)bytes + head;
	random_bytes(nonce, NONCE_BYTES);
	unsigned long long len;
	crypto_aead_xchacha20poly1305_ietf_encrypt(nonce + NONCE_BYTES, &len,
	    (const uint8_t *)plain.ptr, plain.len, more, more_len, NULL, nonce,
	    key->key);
	*ret_bytes = bytes;
	*ret_len = head + NONCE_BYTES + (size_t)len;
}

bool
seal_key_of(struct span stored, struct span *ret_id)
{
	if (!span_starts(stored, SPAN("e ")))
		return false;
	stored = span_from(stored, 2);
	return span_cut(&stored, '\n', ret_id);
}

const struct conf_encryption_key *
seal_find_key(const struct conf_store *conf, struct span id)
{
	for (size_t i = 0; i < conf->n_encryption_keys; i++)
		if (span_eq(span_str(conf->encryption_keys[i].id), id))
			return &conf->encryption_keys[i];
	return NULL;
}

int
seal_open(const struct conf_store *conf, const struct seal_about *about,
    struct span sealed, char **ret_plain, size_t *ret_len)
{
	struct span id;
	if (!seal_key_of(sealed, &id))
		return E_MALFORMED;
	const struct conf_encryption_key *key = seal_find_key(conf, id);
	if (key == NULL)
		return E_NO_KEY;
	struct span rest = span_from(sealed, 2 + id.len + 1);
	if (rest.len < NONCE_BYTES + TAG_BYTES)
		return E_MALFORMED;

	uint8_t more[ABOUT_BYTES];
	size_t more_len = put_about(about, more);
	const uint8_t *nonce = (const uint8_t *)rest.ptr;
	unsigned long long len;
	char *plain = mem_grow(NULL, rest.len - NONCE_BYTES - TAG_BYTES);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt((uint8_t *)plain, &len,
		NULL, nonce + NONCE_BYTES, rest.len - NONCE_BYTES, more,
		more_len, nonce, key->key) != 0) {
		free(plain);
		return E_SEALED;
	}
	*ret_plain = plain;
	*ret_len = (size_t)len;
	return 0;
}

/* --- as text --- */

struct span
seal_close_text(struct arena *arena, const struct conf_store *conf,
    const struct seal_about *about, struct span plain)
{
	char *sealed;
	size_t len;
	seal_close(conf, about, plain, &sealed, &len);
	struct span text = base64_url_text(arena, span_of(sealed, len));
	free(sealed);
	return text;
}

bool
seal_open_text(struct arena *arena, const struct conf_store *conf,
    const struct seal_about *about, struct span text, struct span *ret_plain)
{
	struct span sealed;
	char *plain;
	size_t len;
	if (!base64_decode(arena, text, BASE64_URL, &sealed) ||
	    seal_open(conf, about, sealed, &plain, &len) != 0)
		return false;
	*ret_plain = arena_dup(arena, span_of(plain, len));
	free(plain);
	return true;
}
