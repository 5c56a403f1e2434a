/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/jsonc/spots.h"
#include "conf/review/warning_private.h"

/* --- where it stands --- */

char *
warning_pointer(const char *whole, const char *path)
{
	char *pointer = mem_printf("%s/%s", whole, path);
	for (char *p = pointer + strlen(whole); *p != '\0'; p++)
		if (*p == '.')
			*p = '/';
	return pointer;
}

char *
warning_place(const struct looked_at *at, const char *path)
{
	const struct spots *spots = at->conf->spots;
	char *whole = mem_printf("/routes/%u/idempotency", at->route->index);
	char *own = warning_pointer(whole, path);
	char *preset = warning_pointer("/defaults", path);
	char *found = mem_text(spots_has(spots, own) ? own
		: spots_has(spots, preset)	     ? preset
						     : whole);
	free(whole);
	free(own);
	free(preset);
	return found;
}

bool
warning_is_own(const struct looked_at *at, const char *path)
{
	char *place = warning_place(at, path);
	bool own = strncmp(place, "/defaults/", 10) != 0 &&
	    strcmp(strrchr(place, '/'), "/idempotency") != 0;
	free(place);
	return own;
}

/* --- what it says --- */

void
warning_add(
    struct complaints *complaints, char *pointer, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	struct complaint *last =
	    complaints_add_with(complaints, pointer, fmt, args);
	va_end(args);
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
