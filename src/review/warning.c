/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "review/warning_private.h"

void
warning_add(
    struct complaints *complaints, const char *pointer, const char *words)
{
	for (size_t i = 0; i < complaints->count; i++)
		if (!strcmp(complaints->list[i].pointer, pointer) &&
		    !strcmp(complaints->list[i].message, words))
			return;
	complaints_add(complaints, pointer, "%s", words);
	complaints->list[complaints->count - 1].warning = true;
}
