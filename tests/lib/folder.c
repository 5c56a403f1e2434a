/* SPDX-License-Identifier: BSD-2-Clause */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/folder.h"

enum { OPEN_MAX_FDS = 16 };

void
folder_make(const char *word, char ret_path[FOLDER_MAX])
{
	snprintf(ret_path, FOLDER_MAX, "/tmp/once-%s-XXXXXX", word);
	if (mkdtemp(ret_path) == NULL) {
		perror(ret_path);
		abort();
	}
}

static int
remove_one(
    const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

void
folder_remove(const char *path)
{
	nftw(path, remove_one, OPEN_MAX_FDS, FTW_DEPTH | FTW_PHYS);
}
