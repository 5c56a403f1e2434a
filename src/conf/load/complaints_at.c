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
    const struct json_place *at, const struct option *option)
{
	char *pointer = NULL;
	size_t len;
	FILE *out = open_memstream(&pointer, &len);
	must(out != NULL);
	write_place(out, at);
	if (at == NULL && option == NULL)
		putc('/', out);
	if (option != NULL) {
		putc('/', out);
		for (const char *p = option->path; *p != '\0'; p++)
			putc(*p == '.' ? '/' : *p, out);
	}
	must(fclose(out) == 0);
	return pointer;
}

void
complaints_at(
    struct loader *l, const struct json_place *at, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complaints_add_taken(
	    l->complaints, complaints_at_pointer(at, NULL), fmt, args);
	va_end(args);
}

void
complaints_at_option(struct loader *l, const struct json_place *at,
    const struct option *option, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complaints_add_taken(
	    l->complaints, complaints_at_pointer(at, option), fmt, args);
	va_end(args);
}

void
complaints_at_name(
    struct loader *l, const struct json_place *at, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complaints_add_taken(
	    l->complaints, complaints_at_pointer(at, NULL), fmt, args);
	va_end(args);
	l->complaints->list[l->complaints->count - 1].of_name = true;
}

bool
complaints_at_alone(const struct loader *l, const struct json_place *at,
    const struct option *option)
{
	char *pointer = complaints_at_pointer(at, option);
	bool has = false;
	for (size_t i = 0; i < l->n_alone && !has; i++) {
		const char *other = l->complaints->list[i].pointer;
		has = other != NULL && !strcmp(other, pointer);
	}
	free(pointer);
	return has;
}
