/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "conf/source_asks.h"

/* Stands for a variable's value: no path has it (load/path.c). */
enum { VALUE = '\0' };

/* --- paths --- */

/*
 * The template's path, decoded, without a query and a slash at its end, and
 * with VALUE for each variable; the caller frees its bytes.
 */
static struct span
path_of(const struct template *t)
{
	char *path = mem_zero(strlen(t->text) + 1);
	size_t len = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct span text = t->pieces[i].text;
		if (t->pieces[i].kind != TEMPLATE_TEXT) {
			path[len++] = VALUE;
			continue;
		}
		size_t end = 0;
		while (end < text.len && text.ptr[end] != '?')
			end++;
		for (size_t k = 0; k < end; k++) {
			char c = text.ptr[k];
			if (c == '%' && k + 2 < end) {
				c = (char)(ascii_hex_value(text.ptr[k + 1])
					<< 4 |
				    ascii_hex_value(text.ptr[k + 2]));
				k += 2;
			}
			path[len++] = c;
		}
		if (end < text.len)
			break;
	}
	if (len > 0 && path[len - 1] == '/')
		len--;
	return span_of(path, len);
}

/*
 * Whether some values, of a byte at least, make the segment that text.  What
 * fits behind a value as far to the left as it may leaves the most to the
 * others, so only the last value is ever made longer.
 */
static bool
may_be(struct span segment, struct span text)
{
	size_t s = 0, t = 0;
	size_t value = segment.len; /* the last one; none yet */
	size_t value_end = 0;       /* in the text */
	while (t < text.len) {
		if (s < segment.len && segment.ptr[s] == VALUE) {
			value = s++;
			value_end = ++t;
		} else if (s < segment.len && segment.ptr[s] == text.ptr[t]) {
			s++;
			t++;
		} else if (value < segment.len) {
			s = value + 1;
			t = ++value_end;
		} else {
			return false;
		}
	}
	return s == segment.len;
}

enum fit { FITS_NEVER, FITS_SOMETIMES, FITS_ALWAYS };

/* As front/route.c does it, for all the values of the variables at once. */
static enum fit
path_fit(const struct conf_route *route, struct span rest)
{
	enum fit fit = FITS_ALWAYS;
	for (size_t i = 0; i < route->n_segments; i++) {
		const struct conf_segment *want = &route->segments[i];
		if (want->kind == SEGMENT_REST)
			return fit;
		if (rest.len == 0)
			return FITS_NEVER;
		const char *slash = memchr(rest.ptr + 1, '/', rest.len - 1);
		size_t len = slash ? (size_t)(slash - rest.ptr) : rest.len;
		struct span segment = span_of(rest.ptr + 1, len - 1);
		rest = span_from(rest, len);
		if (want->kind != SEGMENT_TEXT ||
		    span_eq(segment, want->text))
			continue;
		if (!may_be(segment, want->text))
			return FITS_NEVER;
		fit = FITS_SOMETIMES;
	}
	return rest.len == 0 ? fit : FITS_NEVER;
}

/* One without a path was complained about. */
static enum fit
fit_of(const struct conf_source *source, const struct conf_route *route)
{
	if (route->path == NULL ||
	    !conf_has_method(route, span_str(source->request.method)))
		return FITS_NEVER;
	struct span path = path_of(&source->request.path);
	enum fit fit = path_fit(route, path);
	free((char *)(uintptr_t)path.ptr);
	return fit;
}

const struct conf_route *
source_asks_route(const struct conf *conf, const struct conf_source *source,
    size_t *at)
{
	/* Behind the last one that was found nothing comes. */
	if (*at > 0 &&
	    fit_of(source, &conf->routes[*at - 1]) == FITS_ALWAYS)
		return NULL;
	for (size_t i = *at; i < conf->n_routes; i++)
		if (fit_of(source, &conf->routes[i]) != FITS_NEVER) {
			*at = i + 1;
			return &conf->routes[i];
		}
	return NULL;
}

/* --- fields --- */

bool
source_asks_header(const struct conf_source *source, const char *name,
    struct span *ret_value)
{
	const struct conf_header *header = conf_source_header(source, name);
	if (header == NULL)
		return false;
	const struct template *value = &header->value;
	if (header->secret != NULL)
		*ret_value = span_str(header->secret);
	else if (value->count == 1 && value->pieces[0].kind == TEMPLATE_TEXT)
		*ret_value = value->pieces[0].text;
	else
		return false;
	return true;
}
