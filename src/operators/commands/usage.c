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

/* Says which of the words may have been meant; dashes stand before it. */
static void
say_meant(const char *dashes, struct span given, const char *const *words)
{
	struct nearest nearest = nearest_to(given);
	for (; *words != NULL; words++)
		nearest_try(&nearest, span_str(*words));
	if (nearest.found.ptr != NULL)
		fprintf(stderr, "; did you mean %s%.*s?", dashes,
		    SPAN_FMT(nearest.found));
}

/* Says "a, b or c"; last is what stands before the last one. */
static void
say_all(const char *const *words, const char *last)
{
	for (size_t i = 0; words[i] != NULL; i++)
		fprintf(stderr, "%s%s",
		    i == 0                 ? ""
		    : words[i + 1] == NULL ? last
					   : ", ",
		    words[i]);
}

int
usage_unknown(const char *where, const char *kind, const char *given,
    const char *const *names)
{
	say_where(where);
	if (given == NULL) {
		fprintf(stderr, "a %s is missing", kind);
	} else {
		fprintf(stderr, "no such %s: %s", kind, given);
		say_meant("", span_str(given), names);
	}
	fprintf(stderr, "\nThe %ss are ", kind);
	say_all(names, " and ");
	putc('.', stderr);
	return say_help(where);
}

int
usage_unknown_word(const char *where, const char *option, const char *given,
    const char *const *words)
{
	say_where(where);
	fprintf(stderr, "--%s cannot be %s; it is ", option, given);
	say_all(words, " or ");
	say_meant("", span_str(given), words);
	return say_help(where);
}

int
usage_unknown_option(
    const char *where, const char *given, const char *const *names)
{
	const char *name = given + strspn(given, "-");
	say_where(where);
	fprintf(stderr, "no such option: %s", given);
	say_meant("--", span_of(name, strcspn(name, "=")), names);
	return say_help(where);
}
