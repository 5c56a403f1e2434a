/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/digest.h"
#include "base/field.h"
#include "conf/conf.h"
#include "gate/key/content.h"

/*
 * The fingerprint tells whether two requests with one key ask for the same
 * thing: a digest over those parts of a request that its route includes.
 * Pure; any thread.
 */
struct fingerprinted {
	struct span method;
	struct span path;  /* as it was sent; a last slash is no matter */
	struct span query; /* as the client sent it */
	bool has_query;    /* "/x" and "/x?" are not the same target */
	const struct fields *fields;
	/* Fields that override method and path go on, and count besides. */
	bool overrides;
	const struct content *body;
	/* The entity and its version; empty: the route names none. */
	struct span entity, version;
};

/*
 * Makes the fingerprint.  A body that is to be compared as JSON and is none is
 * compared byte for byte; it never equals one that is.  secret is store.secret
 * or empty.
 */
void fingerprint_make(const struct conf_idempotency *policy,
    struct span secret, const struct fingerprinted *request,
    uint8_t ret_fingerprint[DIGEST_BYTES]);

/*
 * Names the parts that are compared, in words for clients: "method, path, query
 * and body (of JSON all but /sent_at)".  The caller frees it.
 */
char *fingerprint_words(const struct conf_idempotency *policy);
