/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/digits.h"
#include "base/mem.h"
#include "load/complaints_private.h"

/* As deep as a pointer of ours goes, and more. */
enum { DEPTH = 16 };

struct rank {
	struct complaint complaint;
	size_t before; /* how many were found before it */
	size_t depth;
	size_t steps[DEPTH]; /* the way to it: its index at each turn */
};

/* The name that a pointer's segment stands for; the caller frees it. */
static char *
segment_name(struct span segment)
{
	char *name = mem_str(segment);
	char *to = name;
	for (const char *from = name; *from != '\0'; from++) {
		if (from[0] == '~' && (from[1] == '0' || from[1] == '1'))
			*to++ = *++from == '0' ? '~' : '/';
		else
			*to++ = *from;
	}
	*to = '\0';
	return name;
}

/* The member's value and how many stand before it; NULL: there is none. */
static json_t *
ranked_member(json_t *object, const char *wanted, size_t *ret_index)
{
	const char *name;
	json_t *value;
	size_t index = 0;
	json_object_foreach(object, name, value)
	{
		if (!strcmp(name, wanted)) {
			*ret_index = index;
			return value;
		}
		index++;
	}
	return NULL;
}

static void
find_steps(struct rank *rank, json_t *json)
{
	const char *at = rank->complaint.pointer;
	bool whole = at == NULL || !strcmp(at, "/");
	while (!whole && rank->depth < DEPTH && *at == '/') {
		size_t len = strcspn(++at, "/");
		char *name = segment_name(span_of(at, len));
		size_t step = 0;
		int64_t index = 0;
		if (json_is_object(json)) {
			json = ranked_member(json, name, &step);
		} else if (digits_read(span_str(name), INT64_MAX, &index)) {
			step = (size_t)index;
			json = json_array_get(json, step);
		}
		free(name);
		if (json == NULL)
			break;
		rank->steps[rank->depth++] = step;
		at += len;
	}
}

static int
compare_ranks(const void *one, const void *other)
{
	const struct rank *a = one;
	const struct rank *b = other;
	for (size_t i = 0; i < a->depth && i < b->depth; i++)
		if (a->steps[i] != b->steps[i])
			return a->steps[i] < b->steps[i] ? -1 : 1;
	if (a->depth != b->depth)
		return a->depth < b->depth ? -1 : 1;
	return a->before < b->before ? -1 : 1;
}

void
complaints_sort(struct complaints *complaints, json_t *root)
{
	size_t count = complaints->count;
	struct rank *ranks = mem_zero(count * sizeof *ranks);
	for (size_t i = 0; i < count; i++) {
		ranks[i].complaint = complaints->list[i];
		ranks[i].before = i;
		find_steps(&ranks[i], root);
	}
	qsort(ranks, count, sizeof *ranks, compare_ranks);
	for (size_t i = 0; i < count; i++)
		complaints->list[i] = ranks[i].complaint;
	free(ranks);
}
