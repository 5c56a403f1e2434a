/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

/*
 * What becomes of retries where a fingerprint changes: key/fingerprint.c makes
 * it, and the record has the one of the first request.  Pure; main thread.
 */

/*
 * Of two meanings (key_meaning_of()) in which the option of that path may have
 * changed; NULL: each request is taken for what it was.  It says what is
 * refused from then on, and what was and is not any more.  The caller frees it.
 */
char *fingerprint_changes_words(
    const json_t *old, const json_t *new, const char *path);
