/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/must.h"
#include "store/record/function_library.h"

enum { DIGITS = 16 };

static const char *const names[] = {
#define SCRIPT(name, word) #name,
#include "tbl/scripts.h"
#undef SCRIPT
};

/* Takes the "#!lua flags=" line off a text: its flags, or an empty span. */
static struct span
take_flags(struct span *text)
{
	struct span line;
	struct span start = SPAN("#!lua flags=");
	if (!span_starts(*text, start))
		return (struct span){NULL, 0};
	must(span_next(text, '\n', &line));
	return span_from(line, start.len);
}

static void
print_function(FILE *out, const char *name, struct span flags)
{
	struct span flag;
	fprintf(out, "redis.register_function{function_name = '%s',\n"
		     "    callback = step, flags = {", name);
	while (span_next(&flags, ',', &flag))
		fprintf(out, "'%.*s', ", (int)flag.len, flag.ptr);
	fprintf(out, "}}\n");
}

/*
 * A script becomes the body of a function whose parameters have the names that
 * scripts know them by.
 */
static void
print_step(
    FILE *out, const struct function_library *library, enum script script)
{
	struct span text = script_text(script);
	struct span flags = take_flags(&text);
	fprintf(out, "do\nlocal function step(KEYS, ARGV)\n%.*s\nend\n",
	    (int)text.len, text.ptr);
	print_function(out, library->functions[script], flags);
	if (*library->readers[script] != '\0')
		print_function(out, library->readers[script],
		    SPAN("no-writes,allow-oom"));
	fprintf(out, "end\n");
}

static void
set_names(struct function_library *library, const char *digits)
{
	snprintf(library->name, sizeof library->name, "onceproxy_%s", digits);
	for (int i = 0; i < SCRIPT_COUNT_; i++) {
		struct span text = script_text((enum script)i);
		snprintf(library->functions[i], FUNCTION_CHARS + 1, "%s_%s",
		    library->name, names[i]);
		if (take_flags(&text).len == 0)
			snprintf(library->readers[i], FUNCTION_CHARS + 1,
			    "%s_read", library->functions[i]);
	}
}

static char *
make_text(const struct function_library *library)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	fprintf(out, "#!lua name=%s\n", library->name);
	for (int i = 0; i < SCRIPT_COUNT_; i++)
		print_step(out, library, (enum script)i);
	must(fclose(out) == 0);
	return text;
}

/* The digits are a hash over the text with zeros in their place. */
struct function_library *
function_library_new(void)
{
	struct function_library *library = mem_zero(sizeof *library);
	uint8_t hash[SHA1_BYTES];
	char hex[SHA1_HEX + 1] = "0000000000000000";
	set_names(library, hex);
	library->text = make_text(library);
	sha1(span_str(library->text), hash);
	free(library->text);
	hex_encode(hash, sizeof hash, hex);
	hex[DIGITS] = '\0';
	set_names(library, hex);
	library->text = make_text(library);
	return library;
}

void
function_library_free(struct function_library **library)
{
	struct function_library *l = *library;
	*library = NULL;
	if (l == NULL)
		return;
	free(l->text);
	free(l);
}
