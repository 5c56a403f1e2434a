/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/ascii.h"
#include "base/base64.h"
#include "conf/basic_user.h"

bool
basic_user_read(struct arena *arena, struct span token, struct span *ret_user)
{
	struct span text;
	if (!base64_decode(arena, token, BASE64, &text) || text.len == 0)
		return false;
	const char *colon = memchr(text.ptr, ':', text.len);
	if (colon == NULL || ascii_has_controls(text))
		return false;
	*ret_user = span_of(text.ptr, (size_t)(colon - text.ptr));
	return true;
}
