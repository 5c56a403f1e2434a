/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "review/covers.h"

bool
covers_paths_of(const struct conf_route *a, const struct conf_route *b)
{
	for (size_t i = 0;; i++) {
		if (i < a->n_segments && a->segments[i].kind == SEGMENT_REST)
			return true;
		if (i == a->n_segments || i == b->n_segments)
			return a->n_segments == b->n_segments;
		const struct conf_segment *x = &a->segments[i];
		const struct conf_segment *y = &b->segments[i];
		if (y->kind == SEGMENT_REST)
			return false;
		if (x->kind == SEGMENT_TEXT &&
		    (y->kind != SEGMENT_TEXT || !span_eq(x->text, y->text)))
			return false;
	}
}

bool
covers_method(const struct conf_route *a, const char *method)
{
	for (size_t i = 0; i < a->methods.count; i++)
		if (!strcmp(a->methods.list[i], method))
			return true;
	return a->methods.count == 0;
}

bool
covers_some_method_of(const struct conf_route *a, const struct conf_route *b)
{
	for (size_t i = 0; i < b->methods.count; i++)
		if (covers_method(a, b->methods.list[i]))
			return true;
	return b->methods.count == 0;
}
