/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/print.h"

void
print_safely(FILE *out, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte < 0x20 || byte == 0x7f)
			fprintf(out, "\\u%04x", byte);
		else
			putc(byte, out);
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
		fprintf(out, "%s: ", file);
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
