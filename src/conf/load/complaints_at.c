/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/load/complaints_private.h"

static void
write_place(FILE *out, const struct json_place *at)
{
	if (at == NULL)
		return;
	write_place(out, at->up);
	if (at->member != NULL)
		json_pointer_write(out, span_str(at->member));
	else
		fprintf(out, "/%zu", at->index);
}

char *
complaints_at_pointer(
    const struct json_place *at, const char *path)
{
	char *pointer = NULL;
	size_t len;
	FILE *out = open_memstream(&pointer, &len);
	must(out != NULL);
	write_place(out, at);
	if (at == NULL || path != NULL)
		putc('/', out);
	for (; path != NULL && *path != '\0'; path++)
		putc(*path == '.' ? '/' : *path, out);
	must(fclose(out) == 0);
	return pointer;
}

void
complaints_at_member(struct loader *l, const struct json_place *at,
    const char *path, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complaints_add_with(
	    l->complaints, complaints_at_pointer(at, path), fmt, args);
	va_end(args);
}

void
complaints_at_name(
    struct loader *l, const struct json_place *at, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complaints_add_with(l->complaints, complaints_at_pointer(at, NULL), fmt,
	    args)->of_name = true;
	va_end(args);
}

bool
complaints_at_alone(const struct loader *l, const struct json_place *at,
    const char *path)
{
	char *pointer = complaints_at_pointer(at, path);
	bool has = false;
	for (size_t i = 0; i < l->n_alone && !has; i++) {
		const char *other = l->complaints->list[i].pointer;
		has = other != NULL && !strcmp(other, pointer);
	}
	free(pointer);
	return has;
}
