/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "base/body.h"
#include "base/error.h"

enum { LEAST_BYTES = 512 };

/*
 * Counts more bytes against the budget; false where that is used up, or for
 * spare room its half.
 */
static bool
budget_take(struct budget *budget, size_t bytes, bool spare)
{
	if (budget == NULL)
		return true;
	size_t limit =
	    atomic_load_explicit(&budget->limit, memory_order_relaxed);
	if (spare)
		limit /= 2;
	size_t used = atomic_fetch_add_explicit(
	    &budget->used, bytes, memory_order_relaxed);
	if (bytes <= limit && used <= limit - bytes)
		return true;
	atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
	return false;
}

static void
budget_give(struct budget *budget, size_t bytes)
{
	if (budget != NULL)
		atomic_fetch_sub_explicit(
		    &budget->used, bytes, memory_order_relaxed);
}

void
body_init(struct body *body, struct budget *budget)
{
	*body = (struct body){.budget = budget};
}

void
body_clear(struct body *body)
{
	budget_give(body->budget, body->size);
	free(body->ptr);
	body->ptr = NULL;
	body->len = body->size = 0;
}

void
body_uncount(struct body *body)
{
	budget_give(body->budget, body->size);
	body->budget = NULL;
}

static int
reserve(struct body *body, size_t bytes, bool spare)
{
	if (bytes <= body->size)
		return 0;
	if (!budget_take(body->budget, bytes - body->size, spare))
		return E_NO_MEMORY;
	char *ptr = realloc(body->ptr, bytes);
	if (ptr == NULL) {
		budget_give(body->budget, bytes - body->size);
		return E_NO_MEMORY;
	}
	body->ptr = ptr;
	body->size = bytes;
	return 0;
}

int
body_reserve(struct body *body, size_t bytes)
{
	return reserve(body, bytes, false);
}

int
body_reserve_spare(struct body *body, size_t bytes)
{
	return reserve(body, bytes, true);
}

int
body_append(struct body *body, const void *bytes, size_t len)
{
	if (len == 0)
		return 0;
	if (len > SIZE_MAX / 2 - body->len)
		return E_NO_MEMORY;
	size_t need = body->len + len;
	if (need > body->size) {
		size_t size = body->size ? body->size : LEAST_BYTES;
		while (size < need)
			size *= 2;
		/* Where doubling is too much, the exact size may still fit. */
		if (body_reserve(body, size) && body_reserve(body, need))
			return E_NO_MEMORY;
	}
	memcpy(body->ptr + body->len, bytes, len);
	body->len = need;
	return 0;
}

void
body_move(struct body *to, struct body *from)
{
	must(to->ptr == NULL);
	*to = *from;
	from->ptr = NULL;
	from->len = from->size = 0;
}
