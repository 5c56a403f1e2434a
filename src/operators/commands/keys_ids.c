/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/digest.h"
#include "base/mem.h"
#include "operators/commands/input.h"
#include "operators/commands/keys_ids_private.h"
#include "operators/commands/usage.h"

const char *
keys_ids_of_instance(const char *text)
{
	static const char urn[] = "urn:onceproxy:key:";
	return strncmp(text, urn, sizeof urn - 1) == 0 ? text + sizeof urn - 1
							: text;
}

static int
add_id(struct keys_line *line, const char *text)
{
	uint8_t bytes[DIGEST_BYTES];
	text = keys_ids_of_instance(text);
	if (!hex_decode(span_str(text), bytes, sizeof bytes))
		return usage_wrong(
		    "keys", "a KEY_ID has %d hex digits, and this "
				       "is none: %s\n"
			    "(\"onceproxy keys find TEXT\" and \"show --key "
			    "KEY --scope 'NAME: VALUE'\" lead to it)",
		    DIGEST_HEX, text);
	line->ids = mem_grow(
	    line->ids, (line->n_ids + 1) * sizeof *line->ids);
	line->ids[line->n_ids++] = text;
	return KEYS_WELL;
}

/* The first words of the lines become texts within what was read. */
static int
add_lines(struct keys_line *line, char *bytes, size_t len)
{
	struct span rest = span_of(bytes, len), piece;
	int code = KEYS_WELL;
	while (code == KEYS_WELL && input_next(&rest, &piece)) {
		char *word = bytes + (piece.ptr - bytes);
		size_t n = strcspn(word, " \t\r\n");
		word[n] = '\0';
		if (strcmp(word, "KEY_ID") != 0)
			code = add_id(line, word);
	}
	return code;
}

static int
read_file(struct keys_line *line)
{
	size_t len;
	if (!input_read(line->ids_file, &line->ids_text, &len)) {
		fprintf(stderr, "onceproxy keys: %s: %s\n", line->ids_file,
		    strerror(errno));
		return KEYS_REFUSED;
	}
	return add_lines(line, line->ids_text, len);
}

int
keys_ids_read(struct keys_line *line, int n_names, char **names)
{
	int code = KEYS_WELL;
	for (int i = 0; i < n_names && code == KEYS_WELL; i++)
		code = add_id(line, names[i]);
	if (code == KEYS_WELL && line->ids_file != NULL)
		code = read_file(line);
	return code;
}

/* Whoever says nothing says no. */
static bool
is_answered_yes(void)
{
	char said[16] = "";
	if (fgets(said, sizeof said, stdin) == NULL) {
		fputc('\n', stderr);
		return false;
	}
	said[strcspn(said, "\n")] = '\0';
	return !strcasecmp(said, "y") || !strcasecmp(said, "yes");
}

int
keys_ids_ask(const struct keys_line *line, const struct keys_question *question)
{
	if (line->yes)
		return KEYS_WELL;
	if (line->ids_file != NULL && !strcmp(line->ids_file, "-"))
		return usage_wrong("keys",
		    "nobody can be asked while --from-file is -: add --yes");
	if (line->n_ids == 1)
		fprintf(stderr, "%s the record %s? ", question->act,
		    line->ids[0]);
	else
		fprintf(stderr, "%s %zu records? ", question->act,
		    line->n_ids);
	fprintf(stderr, "%s [y/N] ", question->follows);
	if (is_answered_yes())
		return KEYS_WELL;
	fprintf(stderr, "onceproxy keys: nothing was %s (--yes asks nobody)\n",
	    question->done);
	return KEYS_REFUSED;
}
