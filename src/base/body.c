/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "base/body.h"
#include "base/error.h"

enum { LEAST_BYTES = 512 };

void
body_clear(struct body *body)
{
	if (body->ptr == NULL)
		return;
	budget_give(body->budget, body->size);
	free(body->ptr);
	body->ptr = NULL;
	body->len = body->size = 0;
}

void
body_line(struct body *body, char *text)
{
	must(text != NULL);
	*body = (struct body){0};
	must(body_append(body, text, strlen(text)) == 0);
	must(body_append(body, "\n", 1) == 0);
	free(text);
}

int
body_reserve(struct body *body, size_t bytes, enum budget_share share)
{
	if (bytes <= body->size)
		return 0;
	if (!budget_take(body->budget, bytes - body->size, share))
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

void
body_trim(struct body *body)
{
	if (body->len == body->size)
		return;
	char *ptr = realloc(body->ptr, body->len > 0 ? body->len : 1);
	if (ptr == NULL)
		return;
	budget_give(body->budget, body->size - body->len);
	body->ptr = ptr;
	body->size = body->len;
}

int
body_append(struct body *body, const void *bytes, size_t len)
{
	return body_append_within(body, bytes, len, SIZE_MAX);
}

int
body_append_within(
    struct body *body, const void *bytes, size_t len, size_t most)
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
		if (size > most && need <= most)
			size = most;
		/* Where doubling is too much, the exact size may still fit. */
		if (body_reserve(body, size, BUDGET_COMMON) &&
		    body_reserve(body, need, BUDGET_COMMON))
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
