/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/usage.h"
#include "conf/nearest.h"

enum { WRONG_USAGE = 2 };

static void
say_where(const char *where)
{
	fprintf(stderr, "onceproxy%s%s: ", *where ? " " : "", where);
}

static int
say_help(const char *where)
{
	fprintf(stderr, "\nTry 'onceproxy%s%s --help'.\n", *where ? " " : "",
	    where);
	return WRONG_USAGE;
}

int
usage_wrong(const char *where, const char *fmt, ...)
{
	va_list args;
	say_where(where);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	return say_help(where);
}

static int
say_unknown(const char *where, const char *kind, const char *given,
    const char *dashes, const struct nearest *nearest)
{
	say_where(where);
	fprintf(stderr, "no such %s: %s", kind, given);
	if (nearest->found.ptr != NULL)
		fprintf(stderr, "; did you mean %s%.*s?", dashes,
		    SPAN_FMT(nearest->found));
	return say_help(where);
}

int
usage_unknown(const char *where, const char *kind, const char *given,
    const char *(*name_at)(size_t i))
{
	struct nearest nearest = nearest_to(span_str(given));
	for (size_t i = 0; name_at(i) != NULL; i++)
		nearest_try(&nearest, span_str(name_at(i)));
	return say_unknown(where, kind, given, "", &nearest);
}

int
usage_unknown_option(const char *where, const char *given,
    const struct option *options, const char *letters)
{
	const char *name = given + strspn(given, "-");
	struct nearest nearest =
	    nearest_to(span_of(name, strcspn(name, "=")));
	for (const struct option *o = options; o->name != NULL; o++)
		if (letters == NULL || strchr(letters, o->val) != NULL)
			nearest_try(&nearest, span_str(o->name));
	return say_unknown(where, "option", given, "--", &nearest);
}
