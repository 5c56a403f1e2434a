/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <sodium.h>

#include "base/must.h"
#include "messages/relay/signature.h"

enum {
	/* Of the longer of both, an Ed25519 signature. */
	BASE64_CHARS = sodium_base64_ENCODED_LEN(
	    crypto_sign_BYTES, sodium_base64_VARIANT_ORIGINAL),
};

static struct span
sign_hmac(struct arena *arena, const struct conf_webhook_secret *secret,
    struct span content)
{
	crypto_auth_hmacsha256_state state;
	uint8_t mac[crypto_auth_hmacsha256_BYTES];
	char text[BASE64_CHARS];
	crypto_auth_hmacsha256_init(&state, secret->key, secret->len);
	crypto_auth_hmacsha256_update(
	    &state, (const uint8_t *)content.ptr, content.len);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof state);
	sodium_bin2base64(text, sizeof text, mac, sizeof mac,
	    sodium_base64_VARIANT_ORIGINAL);
	return arena_printf(arena, "v1,%s", text);
}

static struct span
sign_ed25519(struct arena *arena, const struct conf_webhook_secret *secret,
    struct span content)
{
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES];
	uint8_t secret_key[crypto_sign_SECRETKEYBYTES];
	uint8_t signature[crypto_sign_BYTES];
	char text[BASE64_CHARS];
	must(secret->len == crypto_sign_SEEDBYTES);
	crypto_sign_seed_keypair(public_key, secret_key, secret->key);
	crypto_sign_detached(signature, NULL, (const uint8_t *)content.ptr,
	    content.len, secret_key);
	sodium_memzero(secret_key, sizeof secret_key);
	sodium_bin2base64(text, sizeof text, signature, sizeof signature,
	    sodium_base64_VARIANT_ORIGINAL);
	return arena_printf(arena, "v1a,%s", text);
}

static struct span
content_of(
    struct arena *arena, struct span id, int64_t time_s, struct span body)
{
	struct span head =
	    arena_printf(arena, "%.*s.%" PRId64 ".", SPAN_FMT(id), time_s);
	char *all = arena_alloc(arena, head.len + body.len + 1);
	memcpy(all, head.ptr, head.len);
	memcpy(all + head.len, body.ptr, body.len);
	return span_of(all, head.len + body.len);
}

struct span
signature_text(struct arena *arena, const struct conf_webhook_secret *secrets,
    size_t n_secrets, struct span id, int64_t time_s, struct span body)
{
	struct span content = content_of(arena, id, time_s, body);
	struct span all = SPAN("");
	for (size_t i = 0; i < n_secrets; i++) {
		struct span one = secrets[i].ed25519
		    ? sign_ed25519(arena, &secrets[i], content)
		    : sign_hmac(arena, &secrets[i], content);
		all = arena_printf(arena, "%.*s%s%.*s", SPAN_FMT(all),
		    i > 0 ? " " : "", SPAN_FMT(one));
	}
	return all;
}
