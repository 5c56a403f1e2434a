/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "store/journal/journal_aside.h"

char *
journal_aside(int folder, const char *name)
{
	struct stat st;
	for (unsigned i = 1;; i++) {
		char *aside = mem_printf("%s" JOURNAL_ASIDE "%u", name, i);
		bool taken = fstatat(folder, aside, &st,
				 AT_SYMLINK_NOFOLLOW) == 0;
		if (!taken && errno == ENOENT &&
		    renameat(folder, name, folder, aside) == 0)
			return aside;
		int error = errno;
		free(aside);
		errno = error;
		if (!taken)
			return NULL;
	}
}
