/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "cmd/check.h"
#include "conf/load.h"

/* One line stays one line: control characters as JSON writes them. */
static void
print_text(const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte < 0x20 || byte == 0x7f)
			printf("\\u%04x", byte);
		else
			putchar(byte);
	}
}

static void
print_complaint(const char *file, const struct complaint *complaint)
{
	printf("%s: ", file);
	if (complaint->pointer != NULL) {
		print_text(complaint->pointer);
		fputs(": ", stdout);
	}
	print_text(complaint->words);
	putchar('\n');
}

int
cmd_check(const char *file)
{
	struct complaints complaints = {NULL, 0};
	const struct conf *conf = conf_load(file, &complaints);
	bool valid = conf != NULL;
	for (size_t i = 0; i < complaints.count; i++)
		print_complaint(file, &complaints.list[i]);
	if (valid)
		printf("%s: ok\n", file);
	complaints_free(&complaints);
	conf_unref(&conf);
	return valid ? 0 : 1;
}
