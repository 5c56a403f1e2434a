/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop/own_file.h"
#include "base/mem.h"
#include "base/random.h"
#include "base/test_build.h"
#include "store/journal/journal_aside.h"
#include "store/journal/journal_folder.h"
#include "store/journal/journal_private.h"

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

static bool
open_folder(const char *state_dir, int *ret_folder, char **ret_message)
{
	const char *why;
	int folder = -1;
	int parent = own_file_state_dir(state_dir, &why);
	if (parent < 0) {
		*ret_message = mem_printf(
		    "state_dir %s cannot be used: %s", state_dir, why);
		return false;
	}
	folder = own_file_folder(parent, "journal", &why);
	if (folder >= 0 && !sync_folder(parent)) {
		why = strerror(errno);
		close(folder);
		folder = -1;
	}
	close_quietly(parent);
	*ret_folder = folder;
	if (folder < 0)
		*ret_message = mem_printf(
		    "the folder %s/journal cannot be used: %s", state_dir,
		    why);
	return folder >= 0;
}

/*
 * Locks a file that was just opened.  False with errno, which is EWOULDBLOCK
 * where another process has it, or had it and removed or renamed it.  So of one
 * that makes a file and one that adopts it, never both believe that it is
 * theirs.
 */
static bool
lock_file(int folder, const char *name, int file)
{
	struct stat st, named;
	if ((INVARIANT(journal_locked) &&
		flock(file, LOCK_EX | LOCK_NB) != 0) ||
	    fstat(file, &st) != 0)
		return false;
	bool same = fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    named.st_ino == st.st_ino && named.st_dev == st.st_dev;
	errno = EWOULDBLOCK;
	return same;
}

/* --- a new file --- */

/* The locked descriptor, or -1 with errno. */
static int
make_file(int folder, const char *name)
{
	int file = openat(
	    folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file >= 0 && lock_file(folder, name, file) && sync_folder(folder))
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

/* A new, empty journal; takes the folder's descriptor.  NULL with errno. */
static struct journal *
make_journal(int folder, unsigned worker)
{
	struct journal *journal = NULL;
	char *name = NULL;
	int file;
	do {
		/* Somebody who adopts may have locked it before us. */
		free(name);
		name = new_name(worker);
		file = make_file(folder, name);
	} while (file < 0 && errno == EWOULDBLOCK);
	if (file >= 0)
		journal = journal_new(folder, file, name);
	else
		close_quietly(folder);
	int error = errno;
	free(name);
	errno = error;
	return journal;
}

bool
journal_folder_open(const char *state_dir, unsigned worker,
    struct journal **ret_journal, char **ret_message)
{
	int folder;
	if (!open_folder(state_dir, &folder, ret_message))
		return false;
	struct journal *journal = make_journal(folder, worker);
	if (journal == NULL) {
		*ret_message = mem_printf("no file can be created in "
			"%s/journal: %s", state_dir, strerror(errno));
		return false;
	}
	*ret_journal = journal;
	return true;
}

/* --- what stays --- */

struct journal_left {
	struct journal_left *next;
	char *name;
	struct stat st;
	unsigned foreign;
	int error;
	bool there; /* it was met in this look */
};

static struct journal_left *
find_left(const struct journal_folder *folder, const char *name)
{
	struct journal_left *left = folder->left;
	while (left != NULL && strcmp(left->name, name) != 0)
		left = left->next;
	return left;
}

/* Remembers a file that stays; false: nothing about it is new. */
static bool
is_news(struct journal_folder *folder, const char *name,
    const struct stat *st, const struct journal_found *found)
{
	struct journal_left *left = find_left(folder, name);
	bool old = left != NULL && left->foreign == found->foreign &&
	    left->error == found->error;
	if (left == NULL) {
		left = mem_zero(sizeof *left);
		left->name = mem_str(span_str(name));
		left->next = folder->left;
		folder->left = left;
	}
	left->st = *st;
	left->foreign = found->foreign;
	left->error = found->error;
	left->there = true;
	return !old;
}

/* Whether it has been looked at, and has only entries of other stores. */
static bool
is_known(const struct journal_folder *folder, int fd, const char *name)
{
	struct stat st;
	struct journal_left *left = find_left(folder, name);
	if (left == NULL || left->foreign == 0 || left->error != 0 ||
	    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
	    st.st_ino != left->st.st_ino || st.st_size != left->st.st_size ||
	    st.st_mtim.tv_sec != left->st.st_mtim.tv_sec ||
	    st.st_mtim.tv_nsec != left->st.st_mtim.tv_nsec)
		return false;
	left->there = true;
	return true;
}

/* Drops what was not met again, and counts the rest. */
static void
sum_up(struct journal_folder *folder)
{
	struct journal_left **at = &folder->left;
	folder->foreign = 0;
	while (*at != NULL) {
		struct journal_left *left = *at;
		if (left->there) {
			folder->foreign += left->foreign;
			left->there = false;
			at = &left->next;
			continue;
		}
		*at = left->next;
		free(left->name);
		free(left);
	}
}

void
journal_folder_end(struct journal_folder *folder)
{
	/* Nothing was met, so nothing remains. */
	sum_up(folder);
}

/* --- files of others --- */

/* The descriptor of a file whose lock is ours now, or -1 with errno. */
static int
take_file(int folder, const char *name)
{
	int file = openat(folder, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (file >= 0 && lock_file(folder, name, file))
		return file;
	close_quietly(file);
	return -1;
}

/* The journal of a file that is nobody's, or NULL with errno. */
static struct journal *
take_journal(int folder, const char *name)
{
	int file = take_file(folder, name);
	if (file < 0)
		return NULL;
	int of_journal = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (of_journal >= 0)
		return journal_new(of_journal, file, name);
	close_quietly(file);
	return NULL;
}

/* Copies the open entries into an empty journal: 0, or an errno. */
static int
copy_entries(const struct journal *from, struct journal *to)
{
	struct journal_entry entry;
	struct body bytes;
	uint64_t id = 0, new_id;
	int error = 0;
	body_init(&bytes, NULL);
	while (error == 0 && journal_next(from, NULL, id, &id)) {
		errno = EIO;
		if (journal_read(from, id, &bytes, &entry) != 0 ||
		    !journal_write(to, &entry, &new_id))
			error = errno;
	}
	body_clear(&bytes);
	if (error == 0 && !journal_commit(to))
		error = errno;
	return error;
}

/* A new journal with what is open in the damaged one; NULL with errno. */
static struct journal *
save_entries(int folder, const struct journal *damaged)
{
	int of_journal = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	struct journal *saved =
	    of_journal >= 0 ? make_journal(of_journal, 0) : NULL;
	if (saved == NULL)
		return NULL;
	int error = copy_entries(damaged, saved);
	if (error == 0)
		return saved;
	unlinkat(folder, journal_name(saved), 0);
	journal_give_up(&saved);
	errno = error;
	return NULL;
}

/*
 * Puts a new file in the place of a damaged one, which is kept aside; or NULL,
 * where nothing is open in it.  0, or an errno: all is as it was.
 */
static int
replace_damaged(int folder, struct journal **journal, char **ret_aside)
{
	struct journal *saved = NULL;
	if (journal_open_entries(*journal) > 0) {
		saved = save_entries(folder, *journal);
		if (saved == NULL)
			return errno;
	}
	*ret_aside = journal_aside(folder, journal_name(*journal));
	int error = *ret_aside != NULL ? 0 : errno;
	if (error == 0) {
		sync_folder(folder);
		journal_give_up(journal);
		*journal = saved;
	} else if (saved != NULL) {
		unlinkat(folder, journal_name(saved), 0);
		journal_give_up(&saved);
	}
	return error;
}

struct adoption {
	struct journal_folder *folder;
	int fd;
	const struct origin *ours;
	bool settled;
	void (*each)(void *arg, const struct journal_found *found);
	void *arg;
};

/* Finds out what is in it, and to whom it belongs. */
static void
look_into(const struct adoption *a, struct journal *journal,
    struct journal_found *found, char **ret_aside)
{
	struct journal_damage damage = {0};
	found->error = journal_load(journal, &damage);
	if (found->error == 0 &&
	    (damage.entries > 0 || damage.lost_bytes > 0)) {
		found->error = replace_damaged(a->fd, &journal, ret_aside);
		found->damaged = damage.entries;
		found->lost_bytes = damage.lost_bytes;
		found->aside = *ret_aside;
	}
	if (found->error != 0) {
		journal_give_up(&journal);
		return;
	}
	if (journal == NULL || journal_own_entries(journal, a->ours) > 0) {
		found->journal = journal;
		return;
	}
	if (!a->settled)
		a->each(a->arg,
		    &(struct journal_found){
			.name = found->name, .suspect = journal});
	found->foreign = journal_open_entries(journal);
	journal_close(&journal);
}

/* Tells of a file, unless it stays as it was told before. */
static void
tell(const struct adoption *a, const char *name, struct journal_found *found)
{
	struct stat st = {0};
	bool stays = found->error != 0 || found->foreign > 0;
	fstatat(a->fd, name, &st, AT_SYMLINK_NOFOLLOW);
	if (stays && found->error == 0 && found->aside == NULL && !a->settled)
		return;
	if (!stays || is_news(a->folder, name, &st, found))
		a->each(a->arg, found);
}

static void
adopt_file(const struct adoption *a, const char *name)
{
	struct journal_found found = {.name = name};
	char *aside = NULL;
	if (is_known(a->folder, a->fd, name))
		return;
	struct journal *journal = take_journal(a->fd, name);
	if (journal == NULL && (errno == EWOULDBLOCK || errno == ENOENT))
		return;
	if (journal != NULL)
		look_into(a, journal, &found, &aside);
	else
		found.error = errno;
	tell(a, name, &found);
	free(aside);
}

/* Calls adopt_file for each journal; false with errno. */
static bool
adopt_all(const struct adoption *a, DIR *names)
{
	for (;;) {
		enum journal_format format;
		errno = 0;
		const struct dirent *entry = readdir(names);
		if (entry == NULL)
			return errno == 0;
		if (journal_format_of(entry->d_name, &format))
			adopt_file(a, entry->d_name);
		else if (strstr(entry->d_name, JOURNAL_ASIDE) != NULL)
			a->folder->aside++;
	}
}

bool
journal_folder_adopt(struct journal_folder *folder, const char *state_dir,
    const struct origin *ours, bool settled,
    void (*each)(void *arg, const struct journal_found *found), void *arg,
    char **ret_message)
{
	int fd;
	if (!open_folder(state_dir, &fd, ret_message))
		return false;
	DIR *names = fdopendir(fd);
	must(names != NULL);
	/* What was another store's may be ours by now. */
	if (memcmp(&folder->ours, ours, sizeof *ours) != 0)
		journal_folder_end(folder);
	folder->ours = *ours;
	folder->aside = 0;
	const struct adoption adoption = {
	    folder, fd, ours, settled, each, arg};
	bool ok = adopt_all(&adoption, names);
	if (!ok)
		*ret_message = mem_printf("the folder %s/journal cannot be "
			"read: %s", state_dir, strerror(errno));
	sum_up(folder);
	closedir(names);
	return ok;
}
