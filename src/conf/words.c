/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf/words.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"

int
words_index(const char *words, const char *word)
{
	struct span list = span_str(words);
	struct span one;
	for (int i = 0; span_next(&list, ' ', &one); i++)
		if (span_eq(one, span_str(word)))
			return i;
	return -1;
}

char *
words_at(const char *words, unsigned index)
{
	struct span rest = span_str(words), word = SPAN("");
	for (unsigned i = 0; i <= index; i++)
		must(span_next(&rest, ' ', &word));
	return mem_str(word);
}

char *
words_listed(const char *words)
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
