/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "conf/nearest.h"
#include "operators/commands/usage.h"

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

static void
say_meant(const char *dashes, const struct nearest *nearest)
{
	if (nearest->found.ptr != NULL)
		fprintf(stderr, "; did you mean %s%.*s?", dashes,
		    SPAN_FMT(nearest->found));
}

static void
say_unknown(const char *where, const char *kind, const char *given,
    const char *dashes, const struct nearest *nearest)
{
	say_where(where);
	fprintf(stderr, "no such %s: %s", kind, given);
	say_meant(dashes, nearest);
}

/* Says "a, b or c"; last is what stands before the last one. */
static void
say_names(const char *(*name_at)(size_t i), const char *last)
{
	for (size_t i = 0; name_at(i) != NULL; i++)
		fprintf(stderr, "%s%s",
		    i == 0			 ? ""
			: name_at(i + 1) == NULL ? last
						 : ", ",
		    name_at(i));
}

static int
say_all(const char *where, const char *kind, const char *(*name_at)(size_t i))
{
	fprintf(stderr, "\nThe %ss are ", kind);
	say_names(name_at, " and ");
	putc('.', stderr);
	return say_help(where);
}

int
usage_unknown(const char *where, const char *kind, const char *given,
    const char *(*name_at)(size_t i))
{
	struct nearest nearest = nearest_to(span_str(given));
	for (size_t i = 0; name_at(i) != NULL; i++)
		nearest_try(&nearest, span_str(name_at(i)));
	say_unknown(where, kind, given, "", &nearest);
	return say_all(where, kind, name_at);
}

int
usage_missing(const char *where, const char *kind,
    const char *(*name_at)(size_t i))
{
	say_where(where);
	fprintf(stderr, "a %s is missing", kind);
	return say_all(where, kind, name_at);
}

bool
usage_is_word(const char *given, const char *(*word_at)(size_t i))
{
	for (size_t i = 0; word_at(i) != NULL; i++)
		if (!strcmp(word_at(i), given))
			return true;
	return false;
}

int
usage_unknown_word(const char *where, const char *option, const char *given,
    const char *(*word_at)(size_t i))
{
	struct nearest nearest = nearest_to(span_str(given));
	for (size_t i = 0; word_at(i) != NULL; i++)
		nearest_try(&nearest, span_str(word_at(i)));
	say_where(where);
	fprintf(stderr, "--%s cannot be %s; it is ", option, given);
	say_names(word_at, " or ");
	say_meant("", &nearest);
	return say_help(where);
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
	say_unknown(where, "option", given, "--", &nearest);
	return say_help(where);
}
