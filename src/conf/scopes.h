/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct token_set;

/*
 * What names the tenant that a key belongs to, as a route has it: part of
 * struct conf (conf/conf.h), and like that immutable.  It knows no request; who
 * finds the values in one is key/scope.h.  Any thread.
 */
enum scope_kind {
	SCOPE_HEADER,
	SCOPE_BASIC, /* the user of HTTP Basic */
	SCOPE_PATH,  /* a variable of the route's path */
	SCOPE_CERTIFICATE,
	SCOPE_JWT, /* a claim of a signed token */
};

enum scope_certificate {
	CERTIFICATE_NONE,
	CERTIFICATE_FINGERPRINT,
	CERTIFICATE_SUBJECT,
};

struct conf_scope {
	enum scope_kind kind;
	char *header; /* of SCOPE_HEADER */
	bool basic;   /* of SCOPE_BASIC */
	char *path;   /* of SCOPE_PATH; NULL where it is another kind */
	enum scope_certificate certificate;
	/* Of SCOPE_JWT: the claim; what the token must say, NULL: anything */
	char *jwt, *issuer, *audience;
	char *keys, *ca; /* the file or URL of what verifies it; of the URL */
	struct token_set *set;
	size_t index; /* in the list of the file */
};

struct conf_scopes {
	struct conf_scope *list;
	size_t count; /* none: one scope for all */
};

/* The header that has the value; NULL: no header has it. */
const char *scopes_header(const struct conf_scope *scope);
/*
 * What people call it, where they name a scope by hand: the header, or
 * "basic.user", "path.NAME", "certificate.fingerprint", "certificate.subject",
 * "jwt.CLAIM".  The caller frees it.
 */
char *scopes_name(const struct conf_scope *scope);
/* Whether they are the same, whatever the letters of a header are. */
bool scopes_same(const struct conf_scope *one, const struct conf_scope *other);
