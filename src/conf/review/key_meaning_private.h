/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

/*
 * What the options that tbl/key_options.h has come to: what is written in
 * another way and is the same, and what another option makes void, is no
 * change.  Pure; main thread.
 */

/*
 * Of a route's options, each by its path (as conf/show_running.h has "keys").
 * Names of fields of scope and header are in small letters there;
 * fingerprint.include and header are sets, objects of which each member is
 * true, and fingerprint.ignore is {"members": a set, "query": a set}.  The
 * caller owns it.
 */
json_t *key_meaning_of(const json_t *keys);
/*
 * What becomes of keys that exist where that option changes, of two such; NULL:
 * nothing.  The caller frees it.
 */
char *key_meaning_change(
    const json_t *old, const json_t *new, const char *path);
/* The worst that becomes of them where that option means something else. */
const char *key_meaning_loss(const char *path);
