/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "journal/journal_count.h"
#include "journal/journal_entry.h"
#include "journal/journal_private.h"

/* Adds the open entries of one file; false: errno says why. */
static bool
count_file(int folder, const char *name, uint64_t *entries)
{
	struct journal_head head;
	uint64_t n = 0;
	off_t at = 0;
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT; /* its entries were just delivered */
	int error = 0;
	while ((error = journal_entry_read_head(file, at, &head)) == 0) {
		if (head.kind != JOURNAL_FINISHED)
			n++;
		else if (n > 0)
			n--;
		at += JOURNAL_HEAD_BYTES + (off_t)head.payload_bytes;
	}
	close(file);
	*entries += n;
	errno = error > 0 ? error : 0;
	return error <= 0;
}

static bool
is_journal(const char *name)
{
	size_t len = strlen(name), tail = strlen(JOURNAL_ENDING);
	return len >= tail && !strcmp(name + len - tail, JOURNAL_ENDING);
}

bool
journal_count(const char *state_dir, uint64_t *ret_entries)
{
	char *path = mem_printf("%s/journal", state_dir);
	DIR *folder = opendir(path);
	free(path);
	*ret_entries = 0;
	if (folder == NULL)
		return errno == ENOENT;
	bool ok = true;
	struct dirent *entry;
	errno = 0;
	while (ok && (entry = readdir(folder)) != NULL)
		if (is_journal(entry->d_name))
			ok = count_file(
			    dirfd(folder), entry->d_name, ret_entries);
	ok = ok && errno == 0;
	int error = errno;
	closedir(folder);
	errno = error;
	return ok;
}
