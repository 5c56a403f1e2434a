/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/choice_private.h"
#include "conf/complaints_private.h"
#include "conf/text_private.h"

/* --- words --- */

int
choice_index(const char *words, const char *word)
{
	struct span list = span_str(words);
	struct span one;
	for (int i = 0; span_next(&list, ' ', &one); i++)
		if (span_eq(one, span_str(word)))
			return i;
	return -1;
}

char *
choice_word(const char *words, unsigned index)
{
	struct span rest = span_str(words), word = SPAN("");
	for (unsigned i = 0; i <= index; i++)
		must(span_next(&rest, ' ', &word));
	return mem_str(word);
}

char *
choice_listed(const char *words)
{
	struct span list = span_str(words);
	struct span one;
	char *listed = NULL;
	while (span_next(&list, ' ', &one)) {
		const char *between = !listed ? "" : list.ptr ? ", " : " or ";
		char *longer = mem_printf("%s%s\"%.*s\"", listed ? listed : "",
		    between, SPAN_FMT(one));
		free(listed);
		listed = longer;
	}
	return listed;
}

/* --- values --- */

int
choice_read(struct loader *l, const struct json_place *at, const json_t *value,
    const char *words)
{
	char *text = text_read(l, at, value);
	if (text == NULL)
		return -1;
	int index = choice_index(words, text);
	if (index < 0) {
		char *listed = choice_listed(words);
		complaints_at(l, at, "must be %s", listed);
		free(listed);
	}
	text_free(&text);
	return index;
}

void
choice_parse(struct loader *l, const struct given *given)
{
	int index =
	    choice_read(l, given->at, given->value, given->option->words);
	if (index >= 0)
		*(unsigned *)given_field(given) = (unsigned)index;
}

void
choice_parse_toggle(struct loader *l, const struct given *given)
{
	int index =
	    choice_read(l, given->at, given->value, given->option->words);
	if (index >= 0)
		*(bool *)given_field(given) = index == 1;
}
