/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_pointer.h"
#include "base/mem.h"
#include "conf/complaints.h"

/* --- where it is --- */

/* Deeper than any member of tbl/options.h lies. */
enum { PLACES_MAX = 16 };

char *
complaints_pointer(const struct json_place *at, const char *path)
{
	const struct json_place *places[PLACES_MAX];
	char *pointer = NULL;
	size_t n = 0;
	FILE *out = mem_stream(&pointer);
	for (const struct json_place *p = at; p != NULL; p = p->up) {
		must(n < PLACES_MAX);
		places[n++] = p;
	}
	while (n-- > 0)
		if (places[n]->member != NULL)
			json_pointer_write(out, span_str(places[n]->member));
		else
			fprintf(out, "/%zu", places[n]->index);
	if (at == NULL || path != NULL)
		putc('/', out);
	for (; path != NULL && *path != '\0'; path++)
		putc(*path == '.' ? '/' : *path, out);
	must(fclose(out) == 0);
	return pointer;
}

/* --- the list --- */

struct complaint *
complaints_add(
    struct complaints *complaints, char *pointer, const char *fmt, ...)
{
	va_list args;
	char *message = NULL;
	va_start(args, fmt);
	must(vasprintf(&message, fmt, args) >= 0);
	va_end(args);
	for (size_t i = 0; i < complaints->count; i++) {
		struct complaint *said = &complaints->list[i];
		if (pointer == NULL || said->pointer == NULL ||
		    strcmp(said->pointer, pointer) != 0 ||
		    strcmp(said->message, message) != 0)
			continue;
		free(pointer);
		free(message);
		return said;
	}
	complaints->list = mem_grow(complaints->list,
	    (complaints->count + 1) * sizeof *complaints->list);
	struct complaint *added = &complaints->list[complaints->count++];
	*added = (struct complaint){.pointer = pointer, .message = message};
	return added;
}

void
complaints_free(struct complaints *complaints)
{
	for (size_t i = 0; i < complaints->count; i++) {
		free(complaints->list[i].pointer);
		free(complaints->list[i].message);
	}
	free(complaints->list);
	*complaints = (struct complaints){0};
}

void
complaints_log(
    struct complaints *complaints, const char *file, enum event event)
{
	for (size_t i = 0; i < complaints->count; i++) {
		const struct complaint *c = &complaints->list[i];
		struct logline line = log_begin(event);
		log_str(&line, "file", file);
		if (c->pointer != NULL)
			log_str(&line, "member", c->pointer);
		if (c->line > 0) {
			log_int(&line, "line", (int64_t)c->line);
			log_int(&line, "column", (int64_t)c->column);
		}
		log_str(&line, "error", c->message);
		log_end(&line);
	}
	complaints_free(complaints);
}
