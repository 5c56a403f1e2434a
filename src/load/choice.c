/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "conf/words.h"
#include "load/choice_private.h"
#include "load/complaints_at_private.h"
#include "load/text_private.h"

int
choice_read(struct loader *l, const struct json_place *at, const json_t *value,
    const char *words)
{
	char *text = text_read(l, at, value);
	if (text == NULL)
		return -1;
	int index = words_index(words, text);
	if (index < 0) {
		char *listed = words_listed(words);
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
