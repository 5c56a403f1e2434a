/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The last requests that a worker has observed whose key had come before are
 * listed here, for people who decide whether to enforce a route.  Nothing here
 * knows requests.  The worker's thread adds, any thread reads: both are rare
 * and short.
 */
enum { DUPLICATES_MAX = 64, DUPLICATES_TEXT = 80 };

enum observed {
#define OBSERVED(name, word, is_duplicate) OBSERVED_##name,
#include "tbl/observed.h"
#undef OBSERVED
	OBSERVED_COUNT_,
};

extern const struct observed_line {
	const char *word;
	bool is_duplicate; /* another request had come before */
} duplicates_lines[];

/* Texts that are too long are cut. */
struct duplicate {
	char key_id[DUPLICATES_TEXT];
	char route[DUPLICATES_TEXT];
	char request_id[DUPLICATES_TEXT];
	char first_request_id[DUPLICATES_TEXT];
	int64_t first_ms; /* since 1970, as the next */
	int64_t at_ms;
	int status; /* of the first one's answer; 0: it has none */
	enum observed would;
};

/* Zeros at first, but for the lock, which its owner makes and destroys. */
struct duplicates {
	pthread_mutex_t lock;
	size_t added; /* since the start; the last ones are kept */
	struct duplicate list[DUPLICATES_MAX];
};

void duplicates_add(struct duplicates *all, const struct duplicate *one);
/* Copies those that are kept, the latest first; the number of them. */
size_t duplicates_read(
    struct duplicates *all, struct duplicate ret_list[DUPLICATES_MAX]);
