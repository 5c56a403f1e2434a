/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/arena.h"
#include "conf/token/token_keys.h"

/*
 * Signed tokens (JWT, RFC 7519, in the compact form of RFC 7515): whether one
 * is to be believed, and what it says of whose it is.  The token chooses among
 * the keys by kid, and its algorithm must be its key's; keys that it brings are
 * not looked at.  It knows no request.  Pure; any thread.
 */
struct token_rules {
	const char *claim;    /* whose value names the tenant */
	const char *issuer;   /* what iss must be; NULL: anything */
	const char *audience; /* what must be in aud; NULL: anything */
};

/* So far may the clocks of issuer and gateway be apart. */
enum { TOKEN_LEEWAY_S = 60 };

/*
 * Verifies the signature and, where they are there, exp and nbf.  NULL: it is
 * to be believed, and *ret_value, of the arena, is what no other issuer, type
 * or value of the claim makes.  Else a sentence for the client, of
 * the arena or for good, which tells nothing but what is wrong; *ret_unknown,
 * which is false before, then says whether it names a key that is none of ours.
 */
MUST_USE const char *token_verify(struct arena *arena,
    const struct token_keys *keys, const struct token_rules *rules,
    struct span token, int64_t now_ms, struct span *ret_value,
    bool *ret_unknown);
/*
 * That value of a token which may be anybody's, and over: to compare two that
 * the operator has, never to believe one.  False: it cannot be read.
 */
MUST_USE bool token_claim(struct arena *arena, const char *claim,
    struct span token, struct span *ret_value);
/*
 * The same value of what people name by hand; number: the claim is one, in its
 * one spelling.  An issuer of NULL is none.
 */
struct span token_value(struct arena *arena, const struct span *issuer,
    bool number, struct span claim);
/*
 * The claim that such a value is of, as its issuer's other services know it.
 * False where it is a number, which a text of another tenant may spell.
 */
MUST_USE bool token_value_text(struct span value, struct span *ret_claim);
