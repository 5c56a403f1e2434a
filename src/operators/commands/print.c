/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"
#include "operators/commands/print.h"

void
print_safely(FILE *out, const char *text)
{
	struct span s = span_str(text);
	while (s.len > 0) {
		size_t shown = utf8_shown(s);
		if (shown > 0)
			fwrite(s.ptr, 1, shown, out);
		else
			fprintf(out, "\\u%04x", (unsigned char)s.ptr[0]);
		s = span_from(s, shown > 0 ? shown : 1);
	}
}

static void
put_as_wanted(FILE *out, const char *text, bool safely)
{
	if (safely)
		print_safely(out, text);
	else
		fputs(text, out);
}

void
print_complaints(FILE *out, const char *file,
    const struct complaints *complaints, bool safely)
{
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *complaint = &complaints->list[i];
		fputs(file, out);
		if (complaint->line > 0)
			fprintf(out, ":%zu:%zu", complaint->line,
			    complaint->column);
		fputs(complaint->warning ? ": warning: " : ": ", out);
		if (complaint->pointer != NULL) {
			put_as_wanted(out, complaint->pointer, safely);
			fputs(": ", out);
		}
		put_as_wanted(out, complaint->message, safely);
		putc('\n', out);
	}
}

void
print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
}
