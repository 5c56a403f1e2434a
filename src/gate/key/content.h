/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/body.h"
#include "base/digest.h"
#include "base/field.h"
#include "base/json.h"

/*
 * What a request's body says, apart from how one client or one try wrote it:
 * decoded where it came in gzip, the fields of a form, the parts of an upload.
 * It knows nothing of keys and fingerprints, which compare it.  Pure; any
 * thread.
 */
enum content_kind {
	CONTENT_OTHER,
	CONTENT_FORM,   /* application/x-www-form-urlencoded */
	CONTENT_UPLOAD, /* multipart/form-data, with a boundary */
};

struct content {
	struct span sent; /* as it came */
	struct span bytes;
	bool decoded; /* they came in gzip */
	enum content_kind kind;
	struct span boundary; /* of an upload */
};

/* What of a body without fields is known. */
static inline struct content
content_of(struct span body)
{
	return (struct content){.sent = body, .bytes = body};
}

/*
 * Finds what a body is from its fields (Content-Type, Content-Encoding), and
 * decodes gzip (RFC 1952) into *decoded, which is empty and charges its budget;
 * NULL: it does not.  The content points into it, or into the body.  0;
 * E_MALFORMED: the gzip is broken, or has more than most bytes, and is taken as
 * it is; E_NO_MEMORY: it is nothing.
 */
MUST_USE int content_read(struct content *content, const struct fields *fields,
    struct span body, size_t most, struct body *decoded);

/*
 * The content as JSON, in the arena and pointing into the content.  What is
 * none and is called a form is an object of strings (json_form): many clients
 * call everything a form, if nobody says what it is.  NULL where it is neither.
 */
const struct json *content_json(
    struct arena *arena, const struct content *content);

/*
 * Adds the content to a digest, byte by byte; of an upload (RFC 7578) each
 * part's head and content, without the boundary, which is new in each try.
 * What is no well-formed upload counts as it is.
 */
void content_digest(const struct content *content, struct digest *digest);
