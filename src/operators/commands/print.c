/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "base/utf8.h"
#include "conf/load/conf_load.h"
#include "operators/commands/print.h"

void
print_text(FILE *out, struct span text, const char *kept)
{
	while (text.len > 0) {
		char c = text.ptr[0];
		size_t shown = c != '\0' && strchr(kept, c) != NULL
		    ? 1
		    : utf8_shown(text);
		if (shown > 0)
			fwrite(text.ptr, 1, shown, out);
		else
			fprintf(out, "\\u%04x", (unsigned char)c);
		text = span_from(text, shown > 0 ? shown : 1);
	}
}

void
print_safely(FILE *out, const char *text)
{
	print_text(out, span_str(text), "");
}

void
print_complaints(FILE *out, const char *file,
    const struct complaints *complaints)
{
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *complaint = &complaints->list[i];
		fputs(file, out);
		if (complaint->line > 0)
			fprintf(out, ":%zu:%zu", complaint->line,
			    complaint->column);
		fputs(complaint->warning ? ": warning: " : ": ", out);
		if (complaint->pointer != NULL) {
			print_safely(out, complaint->pointer);
			fputs(": ", out);
		}
		print_safely(out, complaint->message);
		putc('\n', out);
	}
}

const struct conf *
print_unless_valid(const char *file)
{
	struct complaints complaints = {0};
	const struct conf *conf = conf_load(file, false, &complaints);
	print_complaints(stderr, file, &complaints);
	complaints_free(&complaints);
	return conf;
}

void
print_json(const json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(2));
	putchar('\n');
}
