/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stddef.h>

#include "base/budget.h"
#include "base/must.h"
#include "base/span.h"

/*
 * A body is bytes whose number the outside chooses, so all bodies together
 * are counted against one budget (base/budget.h) and refused beyond it.  It
 * knows nothing of HTTP.  It belongs to one thread at a time.  One that is all
 * zeros but for its budget is empty.
 */
struct body {
	struct budget *budget; /* which outlives it; NULL: it is not counted */
	char *ptr;
	size_t len;
	size_t size; /* bytes that are counted against the budget */
};

/* Gives bytes and budget back; the body is empty afterwards. */
void body_clear(struct body *body);

/*
 * Appends; E_NO_MEMORY when the budget does not allow it.  What is counted is
 * what has come, up to twice over.
 */
MUST_USE int body_append(struct body *body, const void *bytes, size_t len);
/* Appends to a body that will have so many bytes at most. */
MUST_USE int body_append_within(
    struct body *body, const void *bytes, size_t len, size_t most);
/*
 * Makes it a line, of a text that it frees: small and the gateway's own, so not
 * counted.  One whose memory for bodies is used up must still be able to speak.
 */
void body_line(struct body *body, char *text);
/*
 * Makes room for so many bytes in all, of that share of the budget;
 * E_NO_MEMORY as above, or where the machine has none.
 */
MUST_USE int body_reserve(
    struct body *body, size_t bytes, enum budget_share share);
/* Gives back what it has beyond its bytes. */
void body_trim(struct body *body);
/* Moves the bytes and their budget from one body into an empty other. */
void body_move(struct body *to, struct body *from);

static inline struct span
body_span(const struct body *body)
{
	return span_of(body->ptr ? body->ptr : "", body->len);
}
