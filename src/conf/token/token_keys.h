/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdint.h>

#include "base/must.h"
#include "base/span.h"

/*
 * The keys that verify signed tokens: a JWK Set (RFC 7517).  A key is good for
 * one algorithm alone (RFC 7518, section 3.1), which follows from what it is,
 * never from a token; an RSA key that names none is for RS256.  It knows no
 * token.  Immutable once read; any thread.
 */
enum token_algorithm {
	TOKEN_RS256, /* an RSA key of 2048 bits or more, as the next three */
	TOKEN_RS384,
	TOKEN_RS512,
	TOKEN_PS256,
	TOKEN_ES256, /* of the curve P-256 */
	TOKEN_ES384, /* of the curve P-384 */
	TOKEN_EDDSA, /* of Ed25519 */
	TOKEN_HS256, /* a secret of 32 bytes or more */
};

struct gnutls_pubkey_st;
struct swappable;

struct token_key {
	enum token_algorithm algorithm;
	char *id; /* kid; NULL: none */
	struct gnutls_pubkey_st *public; /* of RS, PS and ES */
	uint8_t point[32];               /* of EDDSA */
	uint8_t *secret; /* of HS256; of base/secret.h */
	size_t secret_len;
	bool makes_tokens; /* its private part was in the file, too */
};

/* A key that is left out. */
struct token_left {
	unsigned index; /* in the set */
	char *why;      /* the member that says so */
};

struct token_keys {
	struct token_key *list;
	size_t count; /* one at least */
	struct token_left *left;
	size_t n_left;
};

/*
 * Reads a set.  Keys for something else are left out: other kinds, other
 * algorithms, for encryption.  NULL where one is broken or too weak, where two
 * of one algorithm share an id, or where none is left; then *ret_wrong is a
 * sentence, which the caller frees.
 */
MUST_USE struct token_keys *token_keys_read(
    struct span text, char **ret_wrong);
/*
 * For people: the id and algorithm of each key, and of each that is left out
 * its place and why, NULL where none is; the caller frees them.
 */
char *token_keys_used(const struct token_keys *keys);
char *token_keys_left(const struct token_keys *keys);
/* The id of a key whose private part is there, which nobody needs; or NULL. */
char *token_keys_private(const struct token_keys *keys);
/* Nulls the pointer; NULL is accepted. */
void token_keys_free(struct token_keys **keys);

/* Keys that newer ones replace, and which are taken over; NULL: none yet. */
struct swappable *token_keys_publish(struct token_keys *keys);
void token_keys_replace(struct swappable *published, struct token_keys *keys);
