/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>
#include <string.h>

#include "base/ascii.h"
#include "conf/basic_user.h"

bool
basic_user_read(struct arena *arena, struct span token, struct span *ret_user)
{
	char *text = arena_alloc(arena, token.len + 1);
	const char *end;
	size_t len;
	if (sodium_base642bin((unsigned char *)text, token.len + 1, token.ptr,
		token.len, NULL, &len, &end,
		sodium_base64_VARIANT_ORIGINAL) != 0 ||
	    end != token.ptr + token.len)
		return false;
	const char *colon = len > 0 ? memchr(text, ':', len) : NULL;
	if (colon == NULL || ascii_has_controls(span_of(text, len)))
		return false;
	*ret_user = span_of(text, (size_t)(colon - text));
	return true;
}
