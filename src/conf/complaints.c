/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/complaints.h"

struct complaint *
complaints_add_with(struct complaints *complaints, char *pointer,
    const char *fmt, va_list args)
{
	char *message = NULL;
	must(vasprintf(&message, fmt, args) >= 0);
	complaints->list = mem_grow(complaints->list,
	    (complaints->count + 1) * sizeof *complaints->list);
	struct complaint *added = &complaints->list[complaints->count++];
	*added = (struct complaint){.pointer = pointer, .message = message};
	return added;
}

struct complaint *
complaints_add(
    struct complaints *complaints, char *pointer, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	struct complaint *added =
	    complaints_add_with(complaints, pointer, fmt, args);
	va_end(args);
	return added;
}

/* --- the list --- */

void
complaints_sort(struct complaints *complaints)
{
	struct complaint *list = complaints->list;
	/* They come nearly so, and equals keep their order. */
	for (size_t i = 1; i < complaints->count; i++) {
		struct complaint moved = list[i];
		size_t to = i;
		while (to > 0 && (list[to - 1].line > moved.line ||
				     (list[to - 1].line == moved.line &&
					 list[to - 1].column > moved.column))) {
			list[to] = list[to - 1];
			to--;
		}
		list[to] = moved;
	}
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
