/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "conf/token/token.h"
#include "fuzz/fuzz.h"

/*
 * What is true of a token whatever it says: one that nobody has signed is never
 * believed; one that is signed, and believed, is not when a bit of it differs,
 * nor a minute after its end, nor by another key.  The input is a header and a
 * payload with a line feed between them; and a JWK Set, whatever it is.
 */
enum { SECRET_LEN = 32 };
#define NOW_MS INT64_C(1800000000000)

static struct token_keys *
keys_of(const char *secret)
{
	char text[200];
	char *wrong = NULL;
	snprintf(text, sizeof text,
	    "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"a\",\"k\":\"%s\"}]}",
	    secret);
	struct token_keys *keys = token_keys_read(span_str(text), &wrong);
	must(keys != NULL && wrong == NULL);
	return keys;
}

static size_t
put64(char *out, struct span bytes)
{
	base64_url_encode((const uint8_t *)bytes.ptr, bytes.len, out);
	return strlen(out);
}

/* header "." payload "." signature */
static struct span
signed_token(struct arena *arena, const struct token_key *key,
    struct span header, struct span payload)
{
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_state state;
	char *out = arena_alloc(arena, 2 * (header.len + payload.len) + 100);
	size_t len = put64(out, header);
	out[len++] = '.';
	len += put64(out + len, payload);
	crypto_auth_hmacsha256_init(&state, key->secret, key->secret_len);
	crypto_auth_hmacsha256_update(
	    &state, (const unsigned char *)out, len);
	crypto_auth_hmacsha256_final(&state, mac);
	out[len++] = '.';
	len += put64(out + len, span_of(mac, sizeof mac));
	return span_of(out, len);
}

static bool
is_believed(struct arena *arena, const struct token_keys *keys,
    struct span token, int64_t now_ms, struct span *ret_value)
{
	const struct token_rules rules = {"sub", "i", NULL};
	bool unknown = false;
	const char *wrong = token_verify(
	    arena, keys, &rules, token, now_ms, ret_value, &unknown);
	must(!unknown || wrong != NULL);
	must(wrong == NULL || *wrong != '\0');
	return wrong == NULL;
}

static void
spoil_each_part(struct arena *arena, const struct token_keys *keys,
    struct span token)
{
	struct span value;
	for (size_t i = 0; i < token.len; i += 1 + token.len / 16) {
		char *other = arena_alloc(arena, token.len);
		memcpy(other, token.ptr, token.len);
		other[i] = other[i] == 'A' ? 'B' : 'A';
		must(!is_believed(arena, keys, span_of(other, token.len),
		    NOW_MS, &value));
	}
}

static void
read_set(struct span input)
{
	char *wrong = NULL;
	struct token_keys *keys = token_keys_read(input, &wrong);
	must((keys == NULL) == (wrong != NULL));
	must(keys == NULL || keys->count > 0);
	token_keys_free(&keys);
	free(wrong);
}

void
fuzz_token(struct span input)
{
	struct arena *arena = arena_new();
	struct token_keys *ours =
	    keys_of("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
	struct token_keys *others =
	    keys_of("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE");
	struct span payload = input, header, value = SPAN("");
	const char *end =
	    input.len > 0 ? memchr(input.ptr, '\n', input.len) : NULL;
	must(!is_believed(arena, ours, input, NOW_MS, &value));
	read_set(input);
	if (end != NULL) {
		header = span_of(input.ptr, (size_t)(end - input.ptr));
		payload = span_from(input, header.len + 1);
		struct span token =
		    signed_token(arena, &ours->list[0], header, payload);
		if (is_believed(arena, ours, token, NOW_MS, &value)) {
			/* "1:i", the type, and a claim. */
			must(value.len >= 5 &&
			    span_eq(span_of(value.ptr, 3), SPAN("1:i")));
			must(!is_believed(
			    arena, others, token, NOW_MS, &value));
			spoil_each_part(arena, ours, token);
		}
	}
	token_keys_free(&ours);
	token_keys_free(&others);
	arena_free(&arena);
}
