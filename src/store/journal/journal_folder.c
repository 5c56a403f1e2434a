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
#include "store/journal/journal_awaited.h"
#include "store/journal/journal_folder.h"

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

/* A descriptor; -1: *ret_message says why there is none. */
static int
open_folder(const char *state_dir, char **ret_message)
{
	const char *why;
	int parent = own_file_state_dir(state_dir, &why);
	if (parent < 0) {
		*ret_message = mem_printf(
		    "state_dir %s cannot be used: %s", state_dir, why);
		return -1;
	}
	int folder = own_file_folder(parent, "journal", &why);
	if (folder >= 0 && !sync_folder(parent)) {
		why = strerror(errno);
		close(folder);
		folder = -1;
	}
	close(parent);
	if (folder < 0)
		*ret_message = mem_printf(
		    "the folder %s/journal cannot be used: %s", state_dir,
		    why);
	return folder;
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

/* The next journal, or damaged file, of the folder; NULL with errno, or 0. */
static const char *
next_file(DIR *names, bool *ret_aside)
{
	for (;;) {
		enum journal_format format;
		errno = 0;
		const struct dirent *entry = readdir(names);
		if (entry == NULL)
			return NULL;
		bool whole = journal_format_of(entry->d_name, &format);
		*ret_aside =
		    !whole && strstr(entry->d_name, JOURNAL_ASIDE) != NULL;
		if (whole || *ret_aside)
			return entry->d_name;
	}
}

/* --- a new file --- */

/* A new, empty journal; NULL with errno. */
static struct journal *
make_journal(int folder, unsigned worker)
{
	struct journal *journal = NULL;
	do {
		uint8_t random[8];
		char hex[2 * sizeof random + 1];
		random_bytes(random, sizeof random);
		hex_encode(random, sizeof random, hex);
		char *name = mem_printf("%d-%u-%s" JOURNAL_ENDING,
		    (int)getpid(), worker, hex);
		int file = openat(folder, name,
		    O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (file >= 0 && lock_file(folder, name, file) &&
		    sync_folder(folder))
			journal = journal_new(folder, file, name);
		if (journal == NULL)
			close_quietly(file);
		free(name); /* errno stays */
		/* Somebody who adopts may have locked it before us. */
	} while (journal == NULL && errno == EWOULDBLOCK);
	return journal;
}

bool
journal_folder_open(const char *state_dir, unsigned worker,
    struct journal **ret_journal, char **ret_message)
{
	int folder = open_folder(state_dir, ret_message);
	if (folder < 0)
		return false;
	struct journal *journal = make_journal(folder, worker);
	if (journal != NULL)
		*ret_journal = journal;
	else
		*ret_message = mem_printf("no file can be created in "
			"%s/journal: %s", state_dir, strerror(errno));
	close(folder);
	return journal != NULL;
}

/* --- files that stay --- */

struct journal_left {
	struct journal_left *next;
	char *name;
	struct stat st;
	unsigned foreign;
	int error;
	bool there; /* it was met in this search */
};

/*
 * Remembers a file that stays; left is what was known of it, or NULL.  False:
 * nothing about it is new.
 */
static bool
remember(struct journal_folder *folder, struct journal_left *left,
    const struct journal_found *found)
{
	bool old = left != NULL && left->foreign == found->foreign &&
	    left->error == found->error;
	if (left == NULL) {
		left = mem_zero(sizeof *left);
		left->name = mem_text(found->name);
		left->next = folder->left;
		folder->left = left;
	}
	fstatat(folder->fd, left->name, &left->st, AT_SYMLINK_NOFOLLOW);
	left->foreign = found->foreign;
	left->error = found->error;
	left->there = true;
	return !old;
}

void
journal_folder_forget(struct journal_folder *folder)
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

/* --- files of others --- */

/*
 * Puts a new file with what is open in it in the place of a damaged one, which
 * is set aside; or NULL, where nothing is.  0, or an errno: all is as it was.
 */
static int
replace_damaged(int folder, struct journal **journal, char **ret_aside)
{
	struct journal *saved = NULL;
	struct journal_entry entry;
	struct body bytes = {0};
	uint64_t id = 0, new_id;
	int error = 0;
	if (journal_open_entries(*journal, NULL) > 0) {
		saved = make_journal(folder, 0);
		error = saved != NULL ? 0 : errno;
	}
	while (error == 0 && journal_next(*journal, NULL, id, &id, NULL)) {
		errno = EIO;
		if (journal_read(*journal, id, &bytes, &entry) != 0 ||
		    !journal_write(saved, &entry, &new_id))
			error = errno;
	}
	body_clear(&bytes);
	if (error == 0 && saved != NULL && !journal_commit(saved))
		error = errno;
	if (error == 0) {
		*ret_aside = journal_set_aside(folder, journal_name(*journal));
		error = *ret_aside != NULL ? 0 : errno;
	}
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

/* Finds out what is in it, and to whom it belongs. */
static void
examine(const struct journal_folder *folder, struct journal *journal,
    struct journal_found *found)
{
	struct journal_damage damage = {0};
	found->error = journal_load(journal, &damage);
	if (found->error == 0 &&
	    (damage.entries > 0 || damage.lost_bytes > 0)) {
		found->error =
		    replace_damaged(folder->fd, &journal, &found->aside);
		found->damaged = damage.entries;
		found->lost_bytes = damage.lost_bytes;
	}
	if (found->error != 0) {
		journal_give_up(&journal);
		return;
	}
	if (journal == NULL ||
	    journal_open_entries(journal, &folder->ours) > 0) {
		found->journal = journal;
		return;
	}
	/* Until our id is known, none of these may be executed. */
	struct journal_about about;
	for (uint64_t id = 0; !folder->settled &&
	     journal_next(journal, NULL, id, &id, &about);)
		journal_awaited_add(folder->awaited, &about, folder->search);
	found->foreign = journal_open_entries(journal, NULL);
	journal_close(&journal);
}

/*
 * Adopts a file that is nobody's, and reports it, unless it stays as it was
 * when it was reported before.
 */
static void
adopt_file(struct journal_folder *folder, const char *name)
{
	struct journal *journal = NULL;
	struct journal_left *left = folder->left;
	struct stat st;
	while (left != NULL && strcmp(left->name, name) != 0)
		left = left->next;
	/* It was examined, and has only entries of other stores. */
	if (left != NULL && left->foreign > 0 && left->error == 0 &&
	    fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_ino == left->st.st_ino && st.st_size == left->st.st_size &&
	    st.st_mtim.tv_sec == left->st.st_mtim.tv_sec &&
	    st.st_mtim.tv_nsec == left->st.st_mtim.tv_nsec) {
		left->there = true;
		return;
	}
	int file = openat(folder->fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (file >= 0 && lock_file(folder->fd, name, file))
		journal = journal_new(folder->fd, file, name);
	if (journal == NULL) {
		close_quietly(file);
		if (errno == EWOULDBLOCK || errno == ENOENT)
			return;
	}
	int error = errno;
	struct journal_found *found = mem_zero(sizeof *found);
	found->name = mem_text(name);
	if (journal != NULL)
		examine(folder, journal, found);
	else
		found->error = error;
	bool stays = found->error != 0 || found->foreign > 0;
	bool may_be_ours = found->foreign > 0 && found->aside == NULL &&
	    !folder->settled;
	if (!may_be_ours && (!stays || remember(folder, left, found)))
		list_add_last(folder->found, &found->link);
	else
		journal_folder_found_free(&found);
}

void
journal_folder_found_free(struct journal_found **found)
{
	struct journal_found *f = *found;
	*found = NULL;
	list_remove(&f->link);
	free(f->name);
	free(f->aside);
	free(f);
}

bool
journal_folder_adopt(struct journal_folder *folder, const char *state_dir,
    const struct origin *ours, bool settled, struct list *found,
    char **ret_message)
{
	const char *name;
	bool aside;
	folder->search++;
	folder->fd = open_folder(state_dir, ret_message);
	if (folder->fd < 0)
		return false;
	DIR *names = fdopendir(folder->fd);
	must(names != NULL);
	/* What was another store's may be ours by now. */
	if (memcmp(&folder->ours, ours, sizeof *ours) != 0)
		journal_folder_forget(folder);
	folder->ours = *ours;
	folder->settled = settled;
	folder->found = found;
	folder->aside = 0;
	while ((name = next_file(names, &aside)) != NULL) {
		if (aside)
			folder->aside++;
		else
			adopt_file(folder, name);
	}
	bool ok = errno == 0;
	if (!ok)
		*ret_message = mem_printf("the folder %s/journal cannot be "
			"read: %s", state_dir, strerror(errno));
	journal_folder_forget(folder);
	closedir(names);
	return ok;
}

/* --- a survey from outside --- */

static void
count(uint64_t more, const char *name, uint64_t *sum, char **file)
{
	*sum += more;
	if (more > 0 && *file == NULL)
		*file = mem_text(name);
}

/* Adds the open entries of one file; false: errno says why. */
static bool
survey_file(int folder, const char *name, const struct origin *ours,
    struct journal_survey *survey)
{
	struct journal_damage damage;
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return errno == ENOENT; /* its entries were just delivered */
	struct journal *journal = journal_new(folder, file, name);
	if (journal == NULL) {
		close_quietly(file);
		return false;
	}
	int error = journal_load(journal, &damage);
	unsigned ours_here = journal_open_entries(journal, ours);
	count(ours_here, name, &survey->entries, &survey->file);
	count(journal_open_entries(journal, NULL) - ours_here, name,
	    &survey->foreign, &survey->foreign_file);
	journal_give_up(&journal);
	errno = error;
	return error == 0;
}

bool
journal_folder_survey(const char *state_dir, const struct origin *ours,
    struct journal_survey *ret_survey)
{
	char *path = mem_printf("%s/journal", state_dir);
	DIR *folder = opendir(path);
	free(path);
	*ret_survey = (struct journal_survey){0};
	if (folder == NULL)
		return errno == ENOENT;
	const char *name;
	bool aside, ok = true;
	while (ok && (name = next_file(folder, &aside)) != NULL) {
		if (aside)
			count(1, name, &ret_survey->aside,
			    &ret_survey->aside_file);
		else
			ok = survey_file(
			    dirfd(folder), name, ours, ret_survey);
	}
	ok = ok && errno == 0;
	int error = errno;
	closedir(folder);
	errno = error;
	return ok;
}
