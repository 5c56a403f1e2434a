/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/pointer.h"

void
pointer_write(FILE *out, struct span segment)
{
	putc('/', out);
	for (size_t i = 0; i < segment.len; i++) {
		char c = segment.ptr[i];
		if (c == '~' || c == '/')
			fputs(c == '~' ? "~0" : "~1", out);
		else
			putc(c, out);
	}
}
