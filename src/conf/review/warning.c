/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "conf/review/said.h"
#include "conf/review/warning_private.h"

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

void
warning_add_said(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route, const char *path, const char *words)
{
	char *pointer = said_pointer(conf, route, path);
	warning_add(complaints, pointer, words);
	free(pointer);
}
