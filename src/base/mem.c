/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"

enum { SMALL_BYTES = 1024 };

/* Not inlined: of malloc() and memset() a compiler makes calloc() again. */
__attribute__((noinline)) static void *
small_new(size_t bytes)
{
	void *ptr = malloc(bytes);
	must(ptr != NULL);
	return ptr;
}

void *
mem_zero(size_t bytes)
{
	/* Quicker for small ones: calloc() passes by the cache of a thread. */
	if (bytes > 0 && bytes <= SMALL_BYTES)
		return memset(small_new(bytes), 0, bytes);
	void *ptr = calloc(1, bytes ? bytes : 1);
	must(ptr != NULL);
	return ptr;
}

void *
mem_grow(void *old, size_t bytes)
{
	void *ptr = realloc(old, bytes ? bytes : 1);
	must(ptr != NULL);
	return ptr;
}

void *
mem_copy(const void *bytes, size_t len)
{
	void *ptr = malloc(len ? len : 1);
	must(ptr != NULL);
	if (len > 0)
		memcpy(ptr, bytes, len);
	return ptr;
}

char *
mem_str(struct span s)
{
	char *str = malloc(s.len + 1);
	must(str != NULL);
	*span_put(str, s) = '\0';
	return str;
}

char *
mem_text(const char *text)
{
	return text != NULL ? mem_str(span_str(text)) : NULL;
}

char *
mem_printf(const char *fmt, ...)
{
	char *str = NULL;
	va_list args;
	va_start(args, fmt);
	int len = vasprintf(&str, fmt, args);
	va_end(args);
	must(len >= 0);
	return str;
}

FILE *
mem_stream(char **ret_text)
{
	static _Thread_local size_t len; /* that nobody asks for */
	FILE *out = open_memstream(ret_text, &len);
	must(out != NULL);
	return out;
}
