/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/must.h"

struct swappable;

/*
 * A set of keys that is fetched from a URL by libcurl, on a thread of its own:
 * it is asked again when Cache-Control says so, within 5 minutes and 24 hours,
 * and sooner for a key that it does not have.  Whatever goes wrong, the last
 * good set stays; until there was one, none is there.
 *
 * The main thread makes it and looks; the first look begins the thread, which
 * nobody else sees.  Workers find the keys and ask for newer ones, and wait for
 * no lock that is held for long.  Its set (token/token_set.h) owns it, is what
 * configurations share, and outlives it.
 */
struct token_fetch;

/*
 * What is fetched goes into keys (token_keys_publish()), which have NULL until
 * then; ca: the file of its authorities; NULL: the system's.  All three are the
 * set's.  Nothing is asked yet.
 */
struct token_fetch *token_fetch_new(
    const char *url, const char *ca, struct swappable *keys);
/*
 * Ends the thread, and waits for that, which itself waits for no server then.
 * Any thread, once nobody else knows it; nulls the pointer, accepts NULL.
 */
void token_fetch_free(struct token_fetch **fetch);

/* What has happened since the last look. */
struct token_news {
	enum {
		TOKEN_SAME,
		TOKEN_NEW,
		TOKEN_WRONG, /* said once; the keys of before are used on */
	} what;
	char *wrong; /* of WRONG: a sentence that the caller frees; else NULL */
	int64_t again_s; /* a URL is asked again in so many seconds */
};
struct token_news token_fetch_look(struct token_fetch *fetch);
/*
 * A key is not among those that were found; NULL: none were there.  True: it is
 * asked for, or newer ones are there: look again soon.  For a key the URL is
 * asked once in 30 seconds at most.  *ret_old: the URL has not given them in
 * that time.
 */
MUST_USE bool token_fetch_ask(
    struct token_fetch *fetch, const void *found, bool *ret_old);

/*
 * Fetches them at once, on this thread, where nobody looks, and the first time;
 * NULL: all is well, else a sentence that the caller frees.
 */
MUST_USE char *token_fetch_try(struct token_fetch *fetch);
