/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/digest.h"
#include "base/mem.h"
#include "base/must.h"
#include "base/test_build.h"
#include "store/record/script.h"

static const struct {
	const char *name;
	const char *text;
} scripts[] = {
#define SCRIPT(name, word) {#name, script_##name},
#include "tbl/scripts.h"
#undef SCRIPT
};

const char *const script_words[SCRIPT_COUNT_] = {
#define SCRIPT(name, word) word,
#include "tbl/scripts.h"
#undef SCRIPT
};

struct span
script_text(enum script script)
{
	must((unsigned)script < SCRIPT_COUNT_);
	return span_str(
	    SCRIPT_IN_TRIAL(scripts[script].name, scripts[script].text));
}

void
script_names(struct script_names *ret_names)
{
	for (int i = 0; i < SCRIPT_COUNT_; i++) {
		uint8_t hash[SHA1_BYTES];
		sha1(script_text((enum script)i), hash);
		hex_encode(hash, sizeof hash, ret_names->sha[i]);
	}
}

/* --- the library of functions --- */

enum { DIGITS = 16 }; /* of the hash in the library's name */

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
 * Makes all names and the text, with these digits.  Each script becomes the
 * body of a function whose parameters have the names that scripts know them by.
 */
static void
write_library(struct function_library *library, const char *digits)
{
	const struct span start = SPAN("#!lua flags=");
	size_t len;
	FILE *out = open_memstream(&library->text, &len);
	must(out != NULL);
	snprintf(library->name, sizeof library->name, "onceproxy_%s", digits);
	fprintf(out, "#!lua name=%s\n", library->name);
	for (int i = 0; i < SCRIPT_COUNT_; i++) {
		struct span script = script_text((enum script)i);
		struct span flags = {NULL, 0};
		if (span_starts(script, start)) {
			must(span_next(&script, '\n', &flags));
			flags = span_from(flags, start.len);
		}
		char *function = library->functions[i];
		snprintf(function, FUNCTION_CHARS + 1, "%s_%s", library->name,
		    scripts[i].name);
		fprintf(out,
		    "do\nlocal function step(KEYS, ARGV)\n%.*s\nend\n",
		    (int)script.len, script.ptr);
		print_function(out, function, flags);
		if (flags.len == 0) {
			char *reader = library->readers[i];
			snprintf(reader, FUNCTION_CHARS + 1, "%s_read",
			    function);
			print_function(
			    out, reader, SPAN("no-writes,allow-oom"));
		}
		fprintf(out, "end\n");
	}
	must(fclose(out) == 0);
}

/* The library's digits are a hash over the text with zeros in their place. */
struct function_library *
script_library_new(void)
{
	struct function_library *library = mem_zero(sizeof *library);
	uint8_t hash[SHA1_BYTES];
	char hex[SHA1_HEX + 1] = "0000000000000000";
	write_library(library, hex);
	sha1(span_str(library->text), hash);
	free(library->text);
	hex_encode(hash, sizeof hash, hex);
	hex[DIGITS] = '\0';
	write_library(library, hex);
	return library;
}

void
script_library_free(struct function_library **library)
{
	struct function_library *l = *library;
	*library = NULL;
	if (l == NULL)
		return;
	free(l->text);
	free(l);
}
