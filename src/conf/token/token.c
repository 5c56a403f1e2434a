/* SPDX-License-Identifier: BSD-2-Clause */
#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <sodium.h>

#include "base/base64.h"
#include "base/digits.h"
#include "base/test_build.h"
#include "conf/token/token.h"
#include "conf/token/token_json.h"

enum { ID_SHOWN_MAX = 64 };

/* A second above it is no time of any token. */
#define TIME_MAX_S INT64_C(253402300800)

/* The parts of a compact token, decoded but for what is signed. */
struct parts {
	struct span signed_text; /* header and payload as they were sent */
	struct span header, payload, signature;
};

static bool
split_token(struct arena *arena, struct span token, struct parts *ret_parts)
{
	struct span rest = token, header, payload;
	if (!span_cut(&rest, '.', &header) || !span_cut(&rest, '.', &payload))
		return false;
	ret_parts->signed_text =
	    span_of(token.ptr, header.len + 1 + payload.len);
	/* A third dot is no byte of base64. */
	return base64_decode(arena, header, BASE64_URL, &ret_parts->header) &&
	    base64_decode(arena, payload, BASE64_URL, &ret_parts->payload) &&
	    base64_decode(arena, rest, BASE64_URL, &ret_parts->signature);
}

/* --- the key --- */

/* As tokens name them, and GnuTLS, where it verifies. */
static const struct algorithm {
	struct span name;
	gnutls_sign_algorithm_t sign;
	size_t half; /* bytes of each number of an ECDSA signature */
} algorithms[] = {
    [TOKEN_RS256] = {{"RS256", 5}, GNUTLS_SIGN_RSA_SHA256, 0},
    [TOKEN_RS384] = {{"RS384", 5}, GNUTLS_SIGN_RSA_SHA384, 0},
    [TOKEN_RS512] = {{"RS512", 5}, GNUTLS_SIGN_RSA_SHA512, 0},
    [TOKEN_PS256] = {{"PS256", 5}, GNUTLS_SIGN_RSA_PSS_SHA256, 0},
    [TOKEN_ES256] = {{"ES256", 5}, GNUTLS_SIGN_ECDSA_SHA256, 32},
    [TOKEN_ES384] = {{"ES384", 5}, GNUTLS_SIGN_ECDSA_SHA384, 48},
    [TOKEN_EDDSA] = {{"EdDSA", 5}, GNUTLS_SIGN_UNKNOWN, 0},
    [TOKEN_HS256] = {{"HS256", 5}, GNUTLS_SIGN_UNKNOWN, 0},
};

/*
 * The one key of that algorithm which the token names, or the only one there is
 * where it names none; NULL: nobody can tell.
 */
static const struct token_key *
key_of(const struct token_keys *keys, enum token_algorithm algorithm,
    const struct span *id)
{
	const struct token_key *found = NULL;
	for (size_t i = 0; i < keys->count; i++) {
		const struct token_key *key = &keys->list[i];
		if (key->algorithm != algorithm && INVARIANT(token_algorithm))
			continue;
		if (id != NULL &&
		    (key->id == NULL || !span_eq(span_str(key->id), *id)))
			continue;
		if (found != NULL)
			return NULL;
		found = key;
	}
	return found;
}

/* --- the signature --- */

static gnutls_datum_t
datum_of(struct span bytes)
{
	return (gnutls_datum_t){
	    (unsigned char *)(uintptr_t)bytes.ptr, (unsigned)bytes.len};
}

static bool
verify_public(const struct token_key *key, struct span text,
    const gnutls_datum_t *signature)
{
	const gnutls_datum_t data = datum_of(text);
	return gnutls_pubkey_verify_data2(key->public,
		   algorithms[key->algorithm].sign, 0, &data, signature) >= 0;
}

/* Two numbers, one length (RFC 7518, section 3.4); GnuTLS wants DER. */
static bool
verify_ecdsa(const struct token_key *key, const struct parts *parts)
{
	gnutls_datum_t der = {NULL, 0};
	size_t half = algorithms[key->algorithm].half;
	if (parts->signature.len != 2 * half)
		return false;
	const gnutls_datum_t r = datum_of(span_of(parts->signature.ptr, half));
	const gnutls_datum_t s = datum_of(span_from(parts->signature, half));
	bool good = gnutls_encode_rs_value(&der, &r, &s) >= 0 &&
	    verify_public(key, parts->signed_text, &der);
	gnutls_free(der.data);
	return good;
}

static bool
verify_hmac(const struct token_key *key, const struct parts *parts)
{
	crypto_auth_hmacsha256_state state;
	unsigned char mac[crypto_auth_hmacsha256_BYTES];
	crypto_auth_hmacsha256_init(&state, key->secret, key->secret_len);
	crypto_auth_hmacsha256_update(&state,
	    (const unsigned char *)parts->signed_text.ptr,
	    parts->signed_text.len);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof state);
	return parts->signature.len == sizeof mac &&
	    sodium_memcmp(mac, parts->signature.ptr, sizeof mac) == 0;
}

static bool
verify(const struct token_key *key, const struct parts *parts)
{
	const gnutls_datum_t signature = datum_of(parts->signature);
	switch (key->algorithm) {
	case TOKEN_RS256:
	case TOKEN_RS384:
	case TOKEN_RS512:
	case TOKEN_PS256:
		return verify_public(key, parts->signed_text, &signature);
	case TOKEN_ES256:
	case TOKEN_ES384:
		return verify_ecdsa(key, parts);
	case TOKEN_EDDSA:
		return parts->signature.len == crypto_sign_BYTES &&
		    crypto_sign_verify_detached(
			(const unsigned char *)parts->signature.ptr,
			(const unsigned char *)parts->signed_text.ptr,
			parts->signed_text.len, key->point) == 0;
	case TOKEN_HS256:
		return verify_hmac(key, parts);
	}
	return false;
}

/* Why key_of() found none. */
static const char *
words_of_no_key(struct arena *arena, const struct token_keys *keys,
    enum token_algorithm algorithm, const struct span *id)
{
	for (size_t i = 0; id == NULL && i < keys->count; i++)
		if (keys->list[i].algorithm == algorithm)
			return "The token names no key (kid), and more than "
			       "one is known.";
	if (id == NULL)
		return "No key of the token's algorithm is known.";
	/* What is short and plain may be shown as it is. */
	bool plain = id->len > 0 && id->len <= ID_SHOWN_MAX;
	for (size_t i = 0; i < id->len; i++)
		plain &= id->ptr[i] > ' ' && id->ptr[i] <= '~';
	const struct span shown = plain ? *id : SPAN("?");
	return arena_printf(arena, "The token's key, kid \"%.*s\", is not "
	    "known: it, or the gateway's set of keys, is out of date.",
	    SPAN_FMT(shown)).ptr;
}

static const char *
check_signature(struct arena *arena, const struct token_keys *keys,
    const struct parts *parts, bool *ret_unknown)
{
	const struct json *header = json_read(arena, parts->header);
	enum { N = sizeof algorithms / sizeof *algorithms };
	unsigned algorithm = 0;
	struct span id, name;
	if (header == NULL)
		return "The token's header is malformed.";
	/* What it must not be understood without, we do not understand. */
	if (token_json_at(header, "crit") != NULL)
		return "The token demands an extension that is not known.";
	if (!token_json_text(header, "alg", &name))
		algorithm = N;
	while (algorithm < N && !span_eq(name, algorithms[algorithm].name))
		algorithm++;
	if (algorithm == N)
		return "The token's algorithm is none of RS256, RS384, RS512, "
		       "PS256, ES256, ES384, EdDSA and HS256.";
	bool names = token_json_at(header, "kid") != NULL;
	if (names && !token_json_text(header, "kid", &id))
		return "The token's header is malformed.";
	const struct token_key *key =
	    key_of(keys, algorithm, names ? &id : NULL);
	*ret_unknown = key == NULL && names;
	if (key == NULL)
		return words_of_no_key(
		    arena, keys, algorithm, names ? &id : NULL);
	if (!verify(key, parts) && INVARIANT(token_verified))
		return "The token's signature is wrong.";
	return NULL;
}

/* --- what it says --- */

/* A time in whole seconds (NumericDate); false: it is none. */
static bool
read_date(struct arena *arena, const struct json *value, int64_t *ret_s)
{
	struct span text;
	if (!json_spelling(value, &text) || !json_scalar(arena, value, &text))
		return false;
	const char *point = memchr(text.ptr, '.', text.len);
	if (point != NULL)
		text = span_of(text.ptr, (size_t)(point - text.ptr));
	return digits_read(text, TIME_MAX_S, ret_s);
}

/* Its times, and whose it is. */
static const char *
check_claims(struct arena *arena, const struct json *claims,
    const struct token_rules *rules, int64_t now_s)
{
	const struct json *exp = token_json_at(claims, "exp");
	const struct json *nbf = token_json_at(claims, "nbf");
	struct span issuer;
	int64_t s;
	if (exp != NULL && !read_date(arena, exp, &s))
		return "The token's exp is no time.";
	if (exp != NULL && now_s >= s + TOKEN_LEEWAY_S &&
	    INVARIANT(token_in_time))
		return "The token has expired.";
	if (nbf != NULL && !read_date(arena, nbf, &s))
		return "The token's nbf is no time.";
	if (nbf != NULL && now_s + TOKEN_LEEWAY_S < s &&
	    INVARIANT(token_in_time))
		return "The token is not valid yet.";
	if (rules->issuer != NULL &&
	    !(token_json_text(claims, "iss", &issuer) &&
		span_eq(issuer, span_str(rules->issuer))) &&
	    INVARIANT(token_issuer))
		return "The token is another issuer's.";
	if (rules->audience != NULL &&
	    !token_json_lists(claims, "aud", span_str(rules->audience)) &&
	    INVARIANT(token_audience))
		return "The token is for another audience.";
	return NULL;
}

/*
 * The issuer with its length, then the type and the value of the claim: a
 * subject is unique within its issuer only (RFC 7519, section 4.1.2).  Bytes
 * are copied, NULs too.
 */
struct span
token_value(struct arena *arena, const struct span *issuer, bool number,
    struct span claim)
{
	struct span head = issuer != NULL
	    ? arena_printf(arena, "%zu:", issuer->len)
	    : SPAN("-");
	size_t issuer_len = issuer != NULL ? issuer->len : 0;
	char *text = arena_alloc(arena, head.len + issuer_len + 1 + claim.len);
	char *at = text;
	memcpy(at, head.ptr, head.len);
	at += head.len;
	if (issuer_len > 0)
		memcpy(at, issuer->ptr, issuer_len);
	at += issuer_len;
	*at++ = number ? 'n' : 's';
	memcpy(at, claim.ptr, claim.len);
	return span_of(text, head.len + issuer_len + 1 + claim.len);
}

bool
token_value_text(struct span value, struct span *ret_claim)
{
	struct span length;
	int64_t issuer_len = 0;
	if (span_starts(value, SPAN("-")))
		value = span_from(value, 1);
	else if (!span_cut(&value, ':', &length) ||
	    !digits_read(length, INT32_MAX, &issuer_len) ||
	    (size_t)issuer_len > value.len)
		return false;
	value = span_from(value, (size_t)issuer_len);
	if (!span_starts(value, SPAN("s")))
		return false;
	*ret_claim = span_from(value, 1);
	return true;
}

static const char *
read_claim(struct arena *arena, const struct json *claims, const char *name,
    struct span *ret_value)
{
	static const char no_name[] =
	    "The token does not say, in the claim that names the tenant, "
	    "whose it is.";
	const struct json *claim = token_json_at(claims, name);
	const struct json *iss = token_json_at(claims, "iss");
	struct span value, issuer;
	if (iss != NULL && !json_text(iss, &issuer))
		return "The token's iss is no text.";
	if (claim == NULL)
		return no_name;
	bool number = json_spelling(claim, &value);
	if (!number && (!json_text(claim, &value) || value.len == 0))
		return no_name;
	*ret_value =
	    token_value(arena, iss != NULL ? &issuer : NULL, number, value);
	return NULL;
}

const char *
token_verify(struct arena *arena, const struct token_keys *keys,
    const struct token_rules *rules, struct span token, int64_t now_ms,
    struct span *ret_value, bool *ret_unknown)
{
	struct parts parts;
	if (!split_token(arena, token, &parts))
		return "The token is malformed.";
	const char *wrong = check_signature(arena, keys, &parts, ret_unknown);
	if (wrong != NULL)
		return wrong;
	const struct json *claims = json_read(arena, parts.payload);
	if (claims == NULL)
		return "The token's payload is malformed.";
	wrong = check_claims(arena, claims, rules, now_ms / 1000);
	return wrong != NULL
	    ? wrong
	    : read_claim(arena, claims, rules->claim, ret_value);
}

bool
token_claim(struct arena *arena, const char *claim, struct span token,
    struct span *ret_value)
{
	struct parts parts;
	const struct json *claims = split_token(arena, token, &parts)
	    ? json_read(arena, parts.payload)
	    : NULL;
	return claims != NULL &&
	    read_claim(arena, claims, claim, ret_value) == NULL;
}
