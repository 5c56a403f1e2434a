/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/json_pointer.h"
#include "base/mem.h"
#include "base/must.h"

/* One piece of memory has the segments and their text. */
bool
json_pointer_read(
    struct arena *arena, struct span text, struct json_pointer *ret_pointer)
{
	size_t count = 0;
	if (text.len == 0 || text.ptr[0] != '/')
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char next = i + 1 < text.len ? text.ptr[i + 1] : '\0';
		if (text.ptr[i] == '~' && next != '0' && next != '1')
			return false;
		count += text.ptr[i] == '/';
	}
	struct span *segments =
	    arena_alloc(arena, count * sizeof *segments + text.len);
	char *to = (char *)(segments + count);
	struct span *segment = segments;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '/') {
			segment += i > 0;
			*segment = span_of(to, 0);
			continue;
		}
		if (c == '~')
			c = text.ptr[++i] == '1' ? '/' : '~';
		*to++ = c;
		segment->len++;
	}
	*ret_pointer = (struct json_pointer){segments, count};
	return true;
}

bool
json_pointer_is_in(
    const struct json_pointer *pointer, const struct json_pointers *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct json_pointer *other = &list->list[i];
		bool same = other->count == pointer->count;
		for (size_t k = 0; k < pointer->count && same; k++)
			same = span_eq(
			    other->segments[k], pointer->segments[k]);
		if (same)
			return true;
	}
	return false;
}

void
json_pointer_write(FILE *out, struct span segment)
{
	putc('/', out);
	for (size_t i = 0; i < segment.len; i++) {
		char c = segment.ptr[i];
		if (c == '~' || c == '/')
			fputs(c == '~' ? "~0" : "~1", out);
		else
			putc(c, out);
	}
}

char *
json_pointer_text(const struct json_pointer *pointer)
{
	char *text = NULL;
	FILE *out = mem_stream(&text);
	for (size_t i = 0; i < pointer->count; i++)
		json_pointer_write(out, pointer->segments[i]);
	must(fclose(out) == 0);
	return text;
}
