/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "base/mem.h"
#include "base/must.h"
#include "operators/commands/shell_quote.h"

char *
shell_quote(const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "abcdefghijklmnopqrstuvwxyz"
				    "0123456789.:_@/-+=,%";
	if (*text != '\0' && strspn(text, plain) == strlen(text))
		return mem_str(span_str(text));
	char *quoted = NULL;
	FILE *out = mem_stream(&quoted);
	putc('\'', out);
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		putc(*text, out);
	}
	putc('\'', out);
	must(fclose(out) == 0);
	return quoted;
}
