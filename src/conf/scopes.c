/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "conf/scopes.h"

const char *
scopes_header(const struct conf_scope *scope)
{
	switch (scope->kind) {
	case SCOPE_HEADER:
		return scope->header;
	case SCOPE_BASIC:
	case SCOPE_JWT:
		return "Authorization";
	case SCOPE_PATH:
	case SCOPE_CERTIFICATE:
		break;
	}
	return NULL;
}

char *
scopes_name(const struct conf_scope *scope)
{
	switch (scope->kind) {
	case SCOPE_HEADER:
		break;
	case SCOPE_BASIC:
		return mem_text("basic.user");
	case SCOPE_PATH:
		return mem_printf("path.%s", scope->path);
	case SCOPE_CERTIFICATE:
		return mem_text(scope->certificate == CERTIFICATE_SUBJECT
			? "certificate.subject"
			: "certificate.fingerprint");
	case SCOPE_JWT:
		return mem_printf("jwt.%s", scope->jwt);
	}
	return mem_text(scope->header);
}

bool
scopes_same(const struct conf_scope *one, const struct conf_scope *other)
{
	char *a = scopes_name(one), *b = scopes_name(other);
	bool header = one->kind == SCOPE_HEADER;
	bool same = one->kind == other->kind &&
	    (header ? strcasecmp(a, b) : strcmp(a, b)) == 0;
	free(a);
	free(b);
	return same;
}
