/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/token/token.h"
#include "conf/token/token_fetch.h"

/*
 * The keys that verify tokens, as they are now: of a file, which is read again
 * when it changes, or of a URL, which is asked again (token/token_fetch.h): who
 * issues tokens makes new keys now and then.  Ones that are read wrong change
 * nothing.  The main thread makes it and looks; any thread verifies by it.
 */
struct token_keys;
struct token_set;

/* Whether the name of a set is no file's. */
bool token_set_is_url(const char *name);
/*
 * NULL: the file cannot be used; *ret_wrong is a sentence that the caller
 * frees.  A URL, which is well-formed, is not asked yet; ca is of it.
 */
MUST_USE struct token_set *token_set_new(
    const char *name, const char *ca, char **ret_wrong);
void token_set_free(void *set);
/*
 * Has a set that nobody else knows yet the same keys, from now on, as another
 * one; false: they do not have the URL in common, or the file, where that is
 * asked.
 */
bool token_set_share(
    struct token_set *set, const struct token_set *from, bool files);

/* Looks whether it has changed; the first look of a URL begins to ask it. */
struct token_news token_set_look(struct token_set *set);
/*
 * Asks a URL that nobody looks at, once; NULL: all is well, or it is a file;
 * else a sentence that the caller frees.
 */
MUST_USE char *token_set_try(struct token_set *set);
/*
 * What token_keys_used, token_keys_left or token_keys_private says of its keys;
 * NULL, too, where a URL has not given any yet.  The caller frees it.
 */
char *token_set_words(const struct token_set *set,
    char *(*words)(const struct token_keys *keys));

/* Why a token is not believed. */
struct token_refusal {
	const char *words; /* NULL: it is; as of token_verify() */
	bool unverified;   /* no keys were ever there: it may be right */
	bool pending;      /* its key may come soon: verify it again then */
	bool old; /* its key may have come since the URL has given others */
};
/* token_verify() by the keys of now; false: *ret_refusal says why. */
MUST_USE bool token_set_verify(struct arena *arena, const struct token_set *set,
    const struct token_rules *rules, struct span token, int64_t now_ms,
    struct span *ret_value, struct token_refusal *ret_refusal);
