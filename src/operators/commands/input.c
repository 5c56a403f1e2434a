/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "operators/commands/input.h"

bool
input_read(const char *name, char **ret_bytes, size_t *ret_len)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "re") : stdin;
	if (file == NULL)
		return false;
	size_t len = 0, size = 64 * 1024, n;
	char *bytes = mem_grow(NULL, size + 1);
	while ((n = fread(bytes + len, 1, size - len, file)) > 0) {
		len += n;
		if (len == size)
			bytes = mem_grow(bytes, (size *= 2) + 1);
	}
	bool ok = !ferror(file);
	int saved = errno;
	if (file != stdin)
		fclose(file);
	errno = saved;
	if (!ok) {
		free(bytes);
		return false;
	}
	bytes[len] = '\0';
	*ret_bytes = bytes;
	*ret_len = len;
	return true;
}

bool
input_next(struct span *text, struct span *ret_line)
{
	while (span_next(text, '\n', ret_line)) {
		while (ret_line->len > 0 &&
		    ret_line->ptr[ret_line->len - 1] == '\r')
			ret_line->len--;
		*ret_line = span_trim(*ret_line);
		if (ret_line->len > 0 && ret_line->ptr[0] != '#')
			return true;
	}
	return false;
}
