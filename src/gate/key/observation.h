/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/record/owner.h"
#include "store/store.h"

/*
 * What a route that only observes asks Redis about a request's key, beside the
 * request and never in its way: whether another with this key came before, and
 * what became of this one.  It makes no records (lua/observe.lua).  It knows no
 * requests, and decides nothing.  The store's thread.
 */
struct observation;

/* What came before, as the script says it. */
struct observation_told {
	int error; /* 0; else nothing is known */
	enum verdict verdict;
	/* Unless it is OURS: the first request with this key. */
	struct span first_id;
	int64_t first_ms; /* since 1970 */
	int status;       /* of its answer; 0: it has none */
};

struct observation_ask {
	struct key_id key_id;
	uint8_t fingerprint[DIGEST_BYTES];
	int64_t busy_ms; /* so long the request may take */
	int64_t keep_ms; /* how long it is remembered meanwhile */
	struct span request_id;
	/* Called once, perhaps long after the request, or at once. */
	void (*told)(void *arg, const struct observation_told *told);
	void *arg;
};

/* Asks; the caller ends it. */
struct observation *observation_begin(
    struct store *store, const struct observation_ask *ask);

/* What became of the request. */
struct observation_end {
	char letter;     /* C: it has an answer; U: unknown; R: nothing */
	int status;      /* of the answer; 0 */
	int64_t keep_ms; /* how long that is remembered */
};
/*
 * Has that stored where no other request came before, now or once that is
 * known; nulls the caller's pointer, accepts NULL.
 */
void observation_end(struct observation **observation,
    const struct observation_end *end);
