/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/print.h"

void
print_safely(const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;
		if (byte < 0x20 || byte == 0x7f)
			printf("\\u%04x", byte);
		else
			putchar(byte);
	}
}
