/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/name.h"

#include <stddef.h>
#include <string.h>

enum { PLAIN_MAX = 64 };

const char *
name_wrong(const char *text)
{
	if (*text == '\0')
		return "must not be empty";
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return "must not contain control characters";
	return NULL;
}

const char *
name_wrong_plain(const char *text)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz"
				  "0123456789._-");
	if (len == 0 || len > PLAIN_MAX || text[len] != '\0')
		return "must consist of 1 to 64 letters, digits and . _ -";
	return NULL;
}
