/* SPDX-License-Identifier: BSD-2-Clause */
#include <gnutls/abstract.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/base64.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/swappable.h"
#include "conf/token/token_fault.h"
#include "conf/token/token_json.h"
#include "conf/token/token_keys.h"

enum { KEYS_MAX = 200, RSA_BITS_MIN = 2048, SECRET_MIN = 32 };

static void
clear_key(struct token_key *key)
{
	if (key->public != NULL)
		gnutls_pubkey_deinit(key->public);
	secret_free(key->secret);
	free(key->id);
}

void
token_keys_free(struct token_keys **keys)
{
	struct token_keys *k = *keys;
	*keys = NULL;
	if (k == NULL)
		return;
	for (size_t i = 0; i < k->count; i++)
		clear_key(&k->list[i]);
	for (size_t i = 0; i < k->n_left; i++)
		free(k->left[i].why);
	free(k->list);
	free(k->left);
	free(k);
}

static void
free_keys(void *object)
{
	struct token_keys *keys = object;
	token_keys_free(&keys);
}

struct swappable *
token_keys_publish(struct token_keys *keys)
{
	return swappable_new(keys, free_keys);
}

void
token_keys_replace(struct swappable *published, struct token_keys *keys)
{
	struct swappable *newer = token_keys_publish(keys);
	swappable_swap(published, newer);
	swappable_free(&newer);
}

/* --- one key --- */

struct jwk_reading {
	struct arena *arena;
	const struct json *jwk;
	struct token_key *key;
};

static bool
member_bytes(
    const struct jwk_reading *r, const char *name, gnutls_datum_t *ret_bytes)
{
	struct span text, bytes;
	if (!token_json_text(r->jwk, name, &text) ||
	    !base64_decode(r->arena, text, BASE64_URL, &bytes))
		return false;
	*ret_bytes = (gnutls_datum_t){
	    (unsigned char *)(uintptr_t)bytes.ptr, (unsigned)bytes.len};
	return bytes.len > 0;
}

static const char *
read_rsa(const struct jwk_reading *r)
{
	gnutls_datum_t n, e;
	unsigned bits = 0;
	if (!member_bytes(r, "n", &n) || !member_bytes(r, "e", &e))
		return "has no \"n\" and \"e\" in base64url";
	must(gnutls_pubkey_init(&r->key->public) == 0);
	if (gnutls_pubkey_import_rsa_raw(r->key->public, &n, &e) < 0 ||
	    gnutls_pubkey_get_pk_algorithm(r->key->public, &bits) !=
		GNUTLS_PK_RSA)
		return "is no RSA key";
	return bits < RSA_BITS_MIN ? "has less than 2048 bits" : NULL;
}

static const char *
read_ec(const struct jwk_reading *r)
{
	bool longer = r->key->algorithm == TOKEN_ES384;
	unsigned len = longer ? 48 : 32;
	gnutls_datum_t x, y;
	if (!member_bytes(r, "x", &x) || !member_bytes(r, "y", &y) ||
	    x.size != len || y.size != len)
		return longer
		    ? "has no \"x\" and \"y\" of 48 bytes in base64url"
		    : "has no \"x\" and \"y\" of 32 bytes in base64url";
	must(gnutls_pubkey_init(&r->key->public) == 0);
	if (gnutls_pubkey_import_ecc_raw(r->key->public,
		longer ? GNUTLS_ECC_CURVE_SECP384R1
		       : GNUTLS_ECC_CURVE_SECP256R1,
		&x, &y) >= 0)
		return NULL;
	return longer ? "is no point of P-384" : "is no point of P-256";
}

static const char *
read_ed25519(const struct jwk_reading *r)
{
	gnutls_datum_t x;
	if (!member_bytes(r, "x", &x) || x.size != sizeof r->key->point)
		return "has no \"x\" of 32 bytes in base64url";
	memcpy(r->key->point, x.data, x.size);
	return NULL;
}

static const char *
read_secret(const struct jwk_reading *r)
{
	gnutls_datum_t k;
	if (!member_bytes(r, "k", &k) || k.size < SECRET_MIN)
		return "has no \"k\" of 32 bytes or more in base64url";
	r->key->secret = secret_alloc(k.size);
	r->key->secret_len = k.size;
	memcpy(r->key->secret, k.data, k.size);
	sodium_memzero(k.data, k.size);
	return NULL;
}

static const struct kind {
	const char *kty, *crv;
	enum token_algorithm algorithm;
	const char *names[2]; /* alg; the first as tokens have it */
	const char *(*read)(const struct jwk_reading *r);
} kinds[] = {
    {"RSA", NULL, TOKEN_RS256, {"RS256", "RS256"}, read_rsa},
    {"RSA", NULL, TOKEN_RS384, {"RS384", "RS384"}, read_rsa},
    {"RSA", NULL, TOKEN_RS512, {"RS512", "RS512"}, read_rsa},
    {"RSA", NULL, TOKEN_PS256, {"PS256", "PS256"}, read_rsa},
    {"EC", "P-256", TOKEN_ES256, {"ES256", "ES256"}, read_ec},
    {"EC", "P-384", TOKEN_ES384, {"ES384", "ES384"}, read_ec},
    {"OKP", "Ed25519", TOKEN_EDDSA, {"EdDSA", "Ed25519"}, read_ed25519},
    {"oct", NULL, TOKEN_HS256, {"HS256", "HS256"}, read_secret},
};

static bool
says(const struct json *jwk, const char *name, const char *word)
{
	struct span text;
	return token_json_text(jwk, name, &text) &&
	    span_eq(text, span_str(word));
}

/* Whether a member that may be missing is one of two words. */
static bool
may_be(const struct json *jwk, const char *name, const char *const words[2])
{
	return token_json_at(jwk, name) == NULL || says(jwk, name, words[0]) ||
	    says(jwk, name, words[1]);
}

/* What the key is, and is for; NULL: for something else, as *ret_member says */
static const struct kind *
kind_of(const struct json *jwk, const char **ret_member)
{
	static const char *const use[2] = {"sig", "sig"};
	*ret_member = "use";
	if (!may_be(jwk, "use", use))
		return NULL;
	*ret_member = "key_ops";
	if (token_json_at(jwk, "key_ops") != NULL &&
	    !token_json_lists(jwk, "key_ops", SPAN("verify")))
		return NULL;
	bool other_alg = false;
	*ret_member = "kty";
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct kind *kind = &kinds[i];
		if (!says(jwk, "kty", kind->kty))
			continue;
		*ret_member = "crv";
		if (kind->crv != NULL && !says(jwk, "crv", kind->crv))
			continue;
		if (may_be(jwk, "alg", kind->names))
			return kind;
		other_alg = true;
	}
	if (other_alg)
		*ret_member = "alg";
	return NULL;
}

/* Two keys of one algorithm may not share an id. */
static const char *
read_kid(const struct jwk_reading *r, const struct token_keys *others)
{
	struct span id;
	if (token_json_at(r->jwk, "kid") == NULL)
		return NULL;
	if (!token_json_text(r->jwk, "kid", &id) || id.len == 0 ||
	    memchr(id.ptr, '\0', id.len) != NULL)
		return "has a \"kid\" that is no text";
	r->key->id = mem_str(id);
	for (size_t i = 0; i < others->count; i++) {
		const struct token_key *other = &others->list[i];
		if (other->algorithm == r->key->algorithm &&
		    other->id != NULL && !strcmp(other->id, r->key->id))
			return "has the \"kid\" of another one";
	}
	return NULL;
}

/* --- what is left out --- */

/* For its member: "alg" is "PS256". */
static void
leave_out(struct token_keys *keys, const struct json *jwk, unsigned index,
    const char *member)
{
	struct span text;
	char *why;
	if (token_json_at(jwk, member) == NULL)
		why = mem_printf("has no \"%s\"", member);
	else if (!strcmp(member, "key_ops"))
		why = mem_text("\"key_ops\" has no \"verify\"");
	else if (!token_json_text(jwk, member, &text))
		why = mem_printf("\"%s\" is no text", member);
	else
		why = mem_printf(
		    "\"%s\" is \"%.*s\"", member, SPAN_FMT(text));
	keys->left =
	    mem_grow(keys->left, (keys->n_left + 1) * sizeof *keys->left);
	keys->left[keys->n_left++] = (struct token_left){index, why};
}

char *
token_keys_left(const struct token_keys *keys)
{
	char *text;
	if (keys->n_left == 0)
		return NULL;
	FILE *out = mem_stream(&text);
	for (size_t i = 0; i < keys->n_left; i++)
		fprintf(out, "%s/keys/%u (%s)", i > 0 ? ", " : "",
		    keys->left[i].index, keys->left[i].why);
	must(fclose(out) == 0);
	return text;
}

/* --- all of them --- */

static const char *
key_label(const struct token_key *key)
{
	return key->id != NULL ? key->id : "one without a kid";
}

char *
token_keys_private(const struct token_keys *keys)
{
	for (size_t i = 0; i < keys->count; i++)
		if (keys->list[i].makes_tokens)
			return mem_text(key_label(&keys->list[i]));
	return NULL;
}

char *
token_keys_used(const struct token_keys *keys)
{
	char *text;
	FILE *out = mem_stream(&text);
	for (size_t i = 0; i < keys->count; i++) {
		const struct token_key *key = &keys->list[i];
		const struct kind *kind = kinds;
		while (kind->algorithm != key->algorithm)
			kind++;
		fprintf(out, "%s%s (%s)", i > 0 ? ", " : "", key_label(key),
		    kind->names[0]);
	}
	must(fclose(out) == 0);
	return text;
}

/* NULL: it is added, or left out. */
static const char *
add_key(struct arena *arena, const struct json *jwk, unsigned index,
    struct token_keys *keys)
{
	const char *member;
	const struct kind *kind = kind_of(jwk, &member);
	struct token_key key = {.id = NULL};
	const struct jwk_reading reading = {arena, jwk, &key};
	if (kind == NULL) {
		leave_out(keys, jwk, index, member);
		return NULL;
	}
	key.algorithm = kind->algorithm;
	/* RFC 7518, section 6.2.2 and 6.3.2; RFC 8037, section 2. */
	key.makes_tokens = kind->algorithm != TOKEN_HS256 &&
	    token_json_at(jwk, "d") != NULL;
	const char *wrong = kind->read(&reading);
	if (wrong == NULL)
		wrong = read_kid(&reading, keys);
	if (wrong != NULL) {
		clear_key(&key);
		return wrong;
	}
	keys->list =
	    mem_grow(keys->list, (keys->count + 1) * sizeof *keys->list);
	keys->list[keys->count++] = key;
	return NULL;
}

static char *
read_set(struct arena *arena, struct span text, struct token_keys *keys)
{
	const struct json *set = json_read(arena, text);
	const struct json *list =
	    set != NULL ? token_json_at(set, "keys") : NULL;
	const struct json *jwk;
	if (set == NULL)
		return token_fault_words(text);
	if (list == NULL)
		return mem_text("has no JWK Set: a JSON object with \"keys\"");
	for (unsigned i = 0; (jwk = token_json_item(list, i)) != NULL; i++) {
		const char *wrong = i < KEYS_MAX
		    ? add_key(arena, jwk, i, keys)
		    : "is one too many";
		if (wrong != NULL)
			return mem_printf(
			    "has a key, /keys/%u, that %s", i, wrong);
	}
	if (keys->count > 0)
		return NULL;
	char *left = token_keys_left(keys);
	char *words = mem_printf("has no key for RS256, RS384, RS512, PS256, "
	    "ES256, ES384, EdDSA or HS256%s%s",
	    left != NULL ? "; left out: " : "", left != NULL ? left : "");
	free(left);
	return words;
}

struct token_keys *
token_keys_read(struct span text, char **ret_wrong)
{
	struct arena *arena = arena_new();
	struct token_keys *keys = mem_zero(sizeof *keys);
	char *wrong = read_set(arena, text, keys);
	arena_free(&arena);
	if (wrong != NULL) {
		token_keys_free(&keys);
		*ret_wrong = wrong;
	}
	return keys;
}
