/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/review/warning_private.h"

static void PRINTF_LIKE(3, 0)
add(struct complaints *complaints, char *pointer, const char *fmt,
    va_list args)
{
	complaints_add_taken(complaints, pointer, fmt, args);
	struct complaint *last = &complaints->list[complaints->count - 1];
	last->warning = true;
	for (struct complaint *c = complaints->list; c < last; c++)
		if (!strcmp(c->pointer, last->pointer) &&
		    !strcmp(c->message, last->message)) {
			free(last->pointer);
			free(last->message);
			complaints->count--;
			return;
		}
}

void
warning_add(
    struct complaints *complaints, char *pointer, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	add(complaints, pointer, fmt, args);
	va_end(args);
}

void
warning_of(
    const struct looked_at *at, const char *path, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	add(at->complaints, warning_pointer(at, path), fmt, args);
	va_end(args);
}

char *
warning_pointer(const struct looked_at *at, const char *path)
{
	const struct spots *spots = at->conf->spots;
	char *whole = mem_printf("/routes/%u/idempotency", at->route->index);
	char *own = mem_printf("%s/%s", whole, path);
	char *preset = mem_printf("/defaults/%s", path);
	for (char *p = own + strlen(whole); *p != '\0'; p++)
		if (*p == '.')
			*p = '/';
	for (char *p = preset; *p != '\0'; p++)
		if (*p == '.')
			*p = '/';
	char *found = mem_text(spots_has(spots, own) ? own
		: spots_has(spots, preset)	     ? preset
						     : whole);
	free(whole);
	free(own);
	free(preset);
	return found;
}
