/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/ascii.h"

enum { PLAIN_MAX = 64, TOPIC_MAX = 249 };

const char *
name_wrong(const char *text)
{
	if (*text == '\0')
		return "must not be empty";
	return ascii_has_controls(span_str(text))
	    ? "must not contain control characters"
	    : NULL;
}

static bool
is_plain(const char *text, size_t most)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz"
				  "0123456789._-");
	return len > 0 && len <= most && text[len] == '\0';
}

const char *
name_wrong_plain(const char *text)
{
	return is_plain(text, PLAIN_MAX)
	    ? NULL
	    : "must consist of 1 to 64 letters, digits and . _ -";
}

const char *
name_wrong_topic(const char *text)
{
	return is_plain(text, TOPIC_MAX) && strcmp(text, ".") != 0 &&
		strcmp(text, "..") != 0
	    ? NULL
	    : "must consist of 1 to 249 letters, digits and . _ -";
}

struct span
name_as_others_do(struct span text)
{
	bool angles = text.len > 2 && text.ptr[0] == '<' &&
	    text.ptr[text.len - 1] == '>';
	if (!angles)
		return text.len > 1 && text.ptr[0] == ':' ? span_from(text, 1)
							  : SPAN("");
	struct span name = span_of(text.ptr + 1, text.len - 2);
	const char *colon = memchr(name.ptr, ':', name.len);
	return colon != NULL
	    ? span_from(name, (size_t)(colon - name.ptr) + 1)
	    : name;
}

struct span
name_slot_tag(struct span key)
{
	struct span rest = key, tag;
	return span_cut(&rest, '{', &tag) && span_cut(&rest, '}', &tag) &&
		tag.len > 0
	    ? tag
	    : key;
}
