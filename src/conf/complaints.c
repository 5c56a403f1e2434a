/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/complaints.h"

void
complaints_add_taken(struct complaints *complaints, char *pointer,
    const char *fmt, va_list args)
{
	char *message = NULL;
	must(vasprintf(&message, fmt, args) >= 0);
	complaints->list = mem_grow(complaints->list,
	    (complaints->count + 1) * sizeof *complaints->list);
	complaints->list[complaints->count++] =
	    (struct complaint){.pointer = pointer, .message = message};
}

void
complaints_add(
    struct complaints *complaints, const char *pointer, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	complaints_add_taken(complaints, mem_text(pointer), fmt, args);
	va_end(args);
}

/* --- the list --- */

static bool
stands_before(const struct complaint *a, const struct complaint *b)
{
	if (a->line != b->line)
		return a->line < b->line;
	return a->column < b->column;
}

/* Sorted parts are merged, so that equals keep their order. */
static void
merge_sort(struct complaint *list, size_t count, struct complaint *room)
{
	size_t half = count / 2;
	if (half == 0)
		return;
	merge_sort(list, half, room);
	merge_sort(list + half, count - half, room);
	memcpy(room, list, count * sizeof *list);
	size_t left = 0, right = half;
	for (size_t i = 0; i < count; i++) {
		bool take_right = left == half ||
		    (right < count && stands_before(&room[right], &room[left]));
		list[i] = room[take_right ? right++ : left++];
	}
}

void
complaints_sort(struct complaints *complaints)
{
	struct complaint *room =
	    mem_zero((complaints->count + 1) * sizeof *room);
	merge_sort(complaints->list, complaints->count, room);
	free(room);
}

void
complaints_move(struct complaints *to, struct complaints *from)
{
	size_t count = to->count + from->count;
	if (from->count > 0) {
		to->list = mem_grow(to->list, count * sizeof *to->list);
		memcpy(to->list + to->count, from->list,
		    from->count * sizeof *from->list);
	}
	to->count = count;
	free(from->list);
	*from = (struct complaints){0};
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
