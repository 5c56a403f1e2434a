/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/conf.h"

/*
 * What the fields that a source gives all its requests (`request.headers`) say
 * of keys, on the routes that they may come to: whose tenant's they are, and
 * what is compared.  It tells no value: each is a hash over a salt, keyed with
 * a secret, so that who knows both can compare, and nobody else can guess.
 * Main thread.
 */

/*
 * [{"use": "scope" or "fingerprint.headers", "name" (of a scope as
 * scopes_name() has it, else the header, in small letters), "header" (as the
 * source spells it, or null), "route", "hash" (null: it says nothing)}].  Of a
 * scope it is what names the tenant: the user of Basic, a token's claim.  A key
 * tells as much of its tenant's name (record/key_id.h); of what is a secret and
 * is compared alone nothing is told without a secret (NULL) to key it with.
 * The caller owns it.
 */
json_t *source_names_show(const struct conf *conf,
    const struct conf_source *source, const char *secret, const char *salt);
