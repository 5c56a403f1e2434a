/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/test_build.h"
#include "journal/journal_folder.h"
#include "journal/journal_private.h"

enum { FOLDER_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

/* Closes fd if it is one; errno stays as it was. */
static void
close_quietly(int fd)
{
	int error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
}

/* --- the folder --- */

/* Makes names in the folder survive a power loss. */
static bool
sync_folder(int folder)
{
	/* EINVAL: this file system has nothing to sync. */
	return fsync(folder) == 0 || errno == EINVAL;
}

/*
 * Opens state_dir, and makes it where missing; then its parent is synced, if we
 * may read that.
 */
static int
open_state_dir(const char *state_dir)
{
	bool made = mkdir(state_dir, 0700) == 0;
	int parent = open(state_dir, FOLDER_FLAGS);
	int above = made && parent >= 0 ? openat(parent, "..", FOLDER_FLAGS)
					: -1;
	if (above >= 0)
		fsync(above);
	close_quietly(above);
	return parent;
}

static bool
open_folder(const char *state_dir, int *ret_folder, char **ret_message)
{
	int folder = -1;
	int parent = open_state_dir(state_dir);
	if (parent >= 0 &&
	    (mkdirat(parent, "journal", 0700) == 0 || errno == EEXIST))
		folder = openat(parent, "journal", FOLDER_FLAGS);
	bool ok = folder >= 0 && sync_folder(parent);
	close_quietly(parent);
	if (ok) {
		*ret_folder = folder;
		return true;
	}
	close_quietly(folder);
	*ret_message = mem_printf(
	    "the folder %s/journal cannot be created and opened: %s", state_dir,
	    strerror(errno));
	return false;
}

/*
 * Locks a file that was just opened.  False with errno, which is EWOULDBLOCK
 * where another process has it, or had it and removed it.  So of one that makes
 * a file and one that adopts it, never both believe that it is theirs.
 */
static bool
lock_file(int file)
{
	struct stat st;
	if ((INVARIANT(journal_locked) &&
		flock(file, LOCK_EX | LOCK_NB) != 0) ||
	    fstat(file, &st) != 0)
		return false;
	errno = EWOULDBLOCK;
	return st.st_nlink > 0;
}

/* --- a new file --- */

/* The locked descriptor, or -1 with errno. */
static int
make_file(int folder, const char *name)
{
	int file = openat(
	    folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file >= 0 && lock_file(file) && sync_folder(folder))
		return file;
	close_quietly(file);
	return -1;
}

static char *
new_name(unsigned worker)
{
	uint8_t random[8];
	char hex[2 * sizeof random + 1];
	random_bytes(random, sizeof random);
	hex_encode(random, sizeof random, hex);
	return mem_printf("%d-%u-%s" JOURNAL_ENDING, (int)getpid(), worker,
	    hex);
}

bool
journal_folder_open(const char *state_dir, unsigned worker,
    struct journal **ret_journal, char **ret_message)
{
	int folder, file;
	char *name = NULL;
	if (!open_folder(state_dir, &folder, ret_message))
		return false;
	do {
		/* Somebody who adopts may have locked it before us. */
		free(name);
		name = new_name(worker);
		file = make_file(folder, name);
	} while (file < 0 && errno == EWOULDBLOCK);
	if (file >= 0) {
		*ret_journal = journal_new(folder, file, name);
	} else {
		*ret_message = mem_printf("no file can be created in "
			"%s/journal: %s", state_dir, strerror(errno));
		close(folder);
	}
	free(name);
	return file >= 0;
}

/* --- files of others --- */

static bool
ends_with(const char *name, const char *ending)
{
	size_t len = strlen(name), tail = strlen(ending);
	return len >= tail && strcmp(name + len - tail, ending) == 0;
}

/* The descriptor of a file whose lock is ours now, or -1 with errno. */
static int
take_file(int folder, const char *name)
{
	int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (file >= 0 && lock_file(file))
		return file;
	close_quietly(file);
	return -1;
}

/* False: it is somebody's, or no longer there. */
static bool
adopt_file(int folder, const char *name, struct journal_found *ret_found)
{
	struct journal_found found = {.name = name};
	int file = take_file(folder, name);
	if (file < 0 && (errno == EWOULDBLOCK || errno == ENOENT))
		return false;
	int of_journal = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (file < 0 || of_journal < 0) {
		found.error = errno;
		close_quietly(file);
		close_quietly(of_journal);
		*ret_found = found;
		return true;
	}
	struct journal *journal = journal_new(of_journal, file, name);
	struct journal_damage damage = {0};
	found.error = journal_load(journal, &damage);
	if (found.error != 0)
		journal_give_up(&journal);
	else if (journal_open_entries(journal) == 0)
		journal_close(&journal);
	found.damaged = damage.entries;
	found.cut_bytes = damage.cut_bytes;
	found.journal = journal;
	*ret_found = found;
	return true;
}

bool
journal_folder_adopt(const char *state_dir,
    void (*each)(void *arg, const struct journal_found *found), void *arg,
    char **ret_message)
{
	int folder;
	if (!open_folder(state_dir, &folder, ret_message))
		return false;
	DIR *names = fdopendir(folder);
	must(names != NULL);
	for (;;) {
		struct journal_found found;
		errno = 0;
		const struct dirent *entry = readdir(names);
		if (entry == NULL)
			break;
		if (ends_with(entry->d_name, JOURNAL_ENDING) &&
		    adopt_file(folder, entry->d_name, &found))
			each(arg, &found);
	}
	bool ok = errno == 0;
	if (!ok)
		*ret_message = mem_printf("the folder %s/journal cannot be "
			"read: %s", state_dir, strerror(errno));
	closedir(names);
	return ok;
}
