/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "store/journal/journal.h"

enum {
	CHECK_US = 1000000,
	CHUNK_BYTES = 16 * 1024, /* of one write */
	ROOM_FIRST = 16,         /* in entries */
};

/* An entry, and where it stands. */
struct entry_at {
	uint64_t id;
	off_t at;
	struct journal_about about;
};

struct journal {
	int folder;
	int file;   /* locked */
	char *name; /* of the file */
	enum journal_format format;

	/* --- of whoever writes --- */
	off_t end;    /* of what is valid: the next record goes here */
	off_t synced; /* the end of what the disk has for certain */
	/*
	 * There may be bytes behind the end.  True for a new file too, so that
	 * the first check has it tried.
	 */
	bool torn;
	char *message;    /* why it is not writable; NULL: it is */
	int64_t check_us; /* when to check the disk again */
	uint64_t next_id;

	/* --- of all threads --- */
	pthread_mutex_t mutex;
	/* In the order of their ids; the open ones, then the written ones. */
	struct entry_at *entries;
	unsigned n_open;
	unsigned n_written; /* that are not synced yet */
	unsigned room;      /* in entries */
	bool spoiled; /* an entry could not be read: the file is evidence */
};

/* --- the end of the file --- */

/* Makes it not writable, for the reason in what and errno; false. */
static bool
fail(struct journal *journal, const char *what)
{
	int error = errno;
	free(journal->message);
	journal->message = mem_printf(
	    "%s %s: %s", journal->name, what, strerror(error));
	errno = error;
	return false;
}

/*
 * Cuts off what is behind the end.  Nothing is written before that has
 * succeeded: behind a short record, the rest of a longer one that nobody was
 * answered for could be taken for an entry.
 */
static bool
cut_rest(struct journal *journal)
{
	if (journal->torn && INVARIANT(journal_mended) &&
	    ftruncate(journal->file, journal->end) != 0)
		return fail(journal, "cannot be truncated");
	journal->torn = false;
	return true;
}

/* Makes this the end; where the disk does not allow that now, then later. */
static void
move_end(struct journal *journal, off_t end)
{
	journal->end = end;
	journal->torn = true;
	cut_rest(journal);
}

/* A chunk of a record on its way to the file. */
struct chunk {
	char bytes[CHUNK_BYTES];
	size_t len;
	off_t at; /* in the file */
};

static bool
write_chunk(struct journal *journal, struct chunk *chunk)
{
	for (size_t done = 0; done < chunk->len;) {
		ssize_t written = pwrite(journal->file, chunk->bytes + done,
		    chunk->len - done, chunk->at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written == 0)
			errno = ENOSPC; /* no file system should return that */
		if (written <= 0)
			return fail(journal, "cannot be written");
		done += (size_t)written;
		chunk->at += written;
	}
	chunk->len = 0;
	return true;
}

/* Writes a record behind the end, which stays where it is. */
static bool
write_record(struct journal *journal, char letter, uint64_t id,
    const struct span *payload, unsigned n_payload, off_t *ret_end)
{
	struct chunk chunk = {.at = journal->end,
	    .len = journal_entry_head_bytes[journal->format]};
	struct journal_head head = journal_entry_put_head(journal->format,
	    letter, id, payload, n_payload, (uint8_t *)chunk.bytes);
	size_t offset = 0; /* in the payload */
	if (!cut_rest(journal))
		return false;
	journal->torn = true;
	for (unsigned i = 0; i < n_payload; i++) {
		for (struct span left = payload[i]; left.len > 0;) {
			char *to = chunk.bytes + chunk.len;
			size_t len = sizeof chunk.bytes - chunk.len;
			if (len > left.len)
				len = left.len;
			memcpy(to, left.ptr, len);
			journal_entry_mask(&head, offset, to, len);
			left = span_from(left, len);
			offset += len;
			chunk.len += len;
			if (chunk.len == sizeof chunk.bytes &&
			    !write_chunk(journal, &chunk))
				return false;
		}
	}
	if (!write_chunk(journal, &chunk))
		return false;
	*ret_end = chunk.at;
	return true;
}

/* Writes a record and moves the end behind it; false: all is as it was. */
static bool
append_record(struct journal *journal, char letter, uint64_t id,
    const struct span *payload, unsigned n_payload)
{
	if (!write_record(
		journal, letter, id, payload, n_payload, &journal->end)) {
		cut_rest(journal);
		return false;
	}
	journal->torn = false;
	return true;
}

/* Without a name, what is written to it would end with this process. */
static bool
has_name(struct journal *journal)
{
	struct stat st;
	if (fstat(journal->file, &st) != 0)
		return fail(journal, "cannot be examined");
	errno = ENOENT;
	return st.st_nlink > 0 || !INVARIANT(journal_has_name) ||
	    fail(journal, "was removed");
}

static bool
sync_file(struct journal *journal)
{
	if (INVARIANT(journal_synced) && fdatasync(journal->file) != 0)
		return fail(journal, "cannot be synced");
	return has_name(journal);
}

/* --- whether it can be written --- */

enum journal_health
journal_check(struct journal *journal, int64_t now_us)
{
	struct statvfs fs;
	if (now_us < journal->check_us)
		return journal->message == NULL ? JOURNAL_WELL
						: JOURNAL_UNWELL;
	journal->check_us = now_us + CHECK_US;
	bool well = journal->message == NULL && !journal->torn;
	if (fstatvfs(journal->file, &fs) != 0) {
		fail(journal, "is on a file system that cannot be examined");
		return JOURNAL_UNWELL;
	}
	if ((uint64_t)fs.f_bavail * fs.f_frsize < JOURNAL_RESERVE_BYTES) {
		errno = ENOSPC;
		fail(journal, "has less than 1 MiB left to grow");
		return JOURNAL_UNWELL;
	}
	return has_name(journal) && well ? JOURNAL_WELL : JOURNAL_TO_BE_TRIED;
}

/*
 * It writes a record that means nothing (no entry has the id 0), and cuts it
 * off.
 */
bool
journal_try(struct journal *journal)
{
	off_t end;
	bool ok = write_record(
		      journal, JOURNAL_FINISHED, 0, NULL, 0, &end) &&
	    sync_file(journal);
	ok = cut_rest(journal) && ok;
	if (ok) {
		free(journal->message);
		journal->message = NULL;
	}
	return ok;
}

const char *
journal_message(const struct journal *journal)
{
	return journal->message != NULL ? journal->message : "";
}

/* --- open entries --- */

/* The index of the first open entry that is not older than id. */
static unsigned
find_from(const struct journal *journal, uint64_t id)
{
	unsigned low = 0, high = journal->n_open;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (journal->entries[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Notes an entry behind all others. */
static void
note_written(struct journal *journal, uint64_t id, off_t at,
    const struct journal_entry *entry)
{
	unsigned count = journal->n_open + journal->n_written;
	if (count == journal->room) {
		journal->room =
		    journal->room ? 2 * journal->room : ROOM_FIRST;
		journal->entries = mem_grow(journal->entries,
		    journal->room * sizeof *journal->entries);
	}
	journal->entries[count] =
	    (struct entry_at){id, at, journal_entry_about(entry)};
	journal->n_written++;
}

static bool
forget(struct journal *journal, uint64_t id)
{
	unsigned i = find_from(journal, id);
	if (i == journal->n_open || journal->entries[i].id != id)
		return false;
	journal->n_open--;
	memmove(&journal->entries[i], &journal->entries[i + 1],
	    (journal->n_open + journal->n_written - i) *
		sizeof *journal->entries);
	return true;
}

void
journal_forget(struct journal *journal, uint64_t id, bool spoiled)
{
	must(pthread_mutex_lock(&journal->mutex) == 0);
	must(forget(journal, id));
	journal->spoiled = journal->spoiled || spoiled;
	must(pthread_mutex_unlock(&journal->mutex) == 0);
}

const char *
journal_name(const struct journal *journal)
{
	return journal->name;
}

unsigned
journal_open_entries(struct journal *journal, const struct origin *ours)
{
	unsigned count = 0;
	must(pthread_mutex_lock(&journal->mutex) == 0);
	for (unsigned i = 0; i < journal->n_open; i++)
		count += ours == NULL ||
		    origin_is_ours(&journal->entries[i].about.origin, ours);
	must(pthread_mutex_unlock(&journal->mutex) == 0);
	return count;
}

bool
journal_next(struct journal *journal, const struct origin *ours,
    uint64_t after, uint64_t *ret_id, struct journal_about *ret_about)
{
	must(pthread_mutex_lock(&journal->mutex) == 0);
	unsigned i = find_from(journal, after + 1);
	while (ours != NULL && i < journal->n_open &&
	    !origin_is_ours(&journal->entries[i].about.origin, ours))
		i++;
	bool found = i < journal->n_open;
	if (found)
		*ret_id = journal->entries[i].id;
	if (found && ret_about != NULL)
		*ret_about = journal->entries[i].about;
	must(pthread_mutex_unlock(&journal->mutex) == 0);
	return found;
}

static int
read_entry(const struct journal *journal, const struct entry_at *e,
    struct body *bytes, struct journal_entry *ret_entry)
{
	struct journal_head head;
	int error = journal_entry_read_head(
	    journal->format, journal->file, e->at, &head);
	if (error != 0 || head.id != e->id)
		return E_MALFORMED;
	error = journal_entry_read(
	    journal->file, e->at, &head, bytes, ret_entry);
	return error == 0 || error == E_NO_MEMORY ? error : E_MALFORMED;
}

int
journal_read(struct journal *journal, uint64_t id, struct body *bytes,
    struct journal_entry *ret_entry)
{
	must(pthread_mutex_lock(&journal->mutex) == 0);
	unsigned i = find_from(journal, id);
	must(i < journal->n_open && journal->entries[i].id == id);
	struct entry_at e = journal->entries[i];
	must(pthread_mutex_unlock(&journal->mutex) == 0);
	return read_entry(journal, &e, bytes, ret_entry);
}

int
journal_read_answer(struct journal *journal, const struct origin *ours,
    const struct key_id *key_id, struct body *bytes,
    struct journal_entry *ret_entry)
{
	struct entry_at e = {0}; /* ids are from 1 */
	must(pthread_mutex_lock(&journal->mutex) == 0);
	unsigned count =
	    journal->n_open + (bytes == NULL ? journal->n_written : 0);
	for (unsigned i = 0; e.id == 0 && i < count; i++) {
		const struct entry_at *at = &journal->entries[i];
		if (at->about.kind == JOURNAL_COMPLETE &&
		    origin_is_ours(&at->about.origin, ours) &&
		    !memcmp(&at->about.key_id, key_id, sizeof *key_id))
			e = *at;
	}
	must(pthread_mutex_unlock(&journal->mutex) == 0);
	if (e.id == 0)
		return E_NOT_FOUND;
	return bytes != NULL ? read_entry(journal, &e, bytes, ret_entry) : 0;
}

/* --- writing --- */

bool
journal_write(struct journal *journal, const struct journal_entry *entry,
    uint64_t *ret_id)
{
	uint8_t fixed[JOURNAL_FIXED_BYTES];
	struct span payload[JOURNAL_PARTS];
	char letter = journal_entry_put(entry, fixed, payload);
	off_t at = journal->end;
	uint64_t id = journal->next_id;
	if (!append_record(journal, letter, id, payload, JOURNAL_PARTS))
		return false;
	must(pthread_mutex_lock(&journal->mutex) == 0);
	note_written(journal, id, at, entry);
	must(pthread_mutex_unlock(&journal->mutex) == 0);
	journal->next_id++;
	*ret_id = id;
	return true;
}

bool
journal_commit(struct journal *journal)
{
	bool synced = sync_file(journal);
	must(pthread_mutex_lock(&journal->mutex) == 0);
	if (synced)
		journal->n_open += journal->n_written;
	journal->n_written = 0;
	must(pthread_mutex_unlock(&journal->mutex) == 0);
	if (synced)
		journal->synced = journal->end;
	else
		move_end(journal, journal->synced);
	return synced;
}

void
journal_mark(struct journal *journal, uint64_t id)
{
	must(journal->end == journal->synced);
	must(pthread_mutex_lock(&journal->mutex) == 0);
	bool empty = journal->n_open == 0 && !journal->spoiled;
	must(pthread_mutex_unlock(&journal->mutex) == 0);
	if (empty)
		move_end(journal, 0);
	else
		(void)append_record(journal, JOURNAL_FINISHED, id, NULL, 0);
	journal->synced = journal->end;
}

/* --- a file that was there --- */

/*
 * Takes in the record there, and moves *at behind it: 0; E_MALFORMED where
 * there is none; or an errno.  bytes is scratch memory.
 */
static int
load_record(struct journal *journal, off_t *at, off_t size, struct body *bytes,
    struct journal_damage *damage)
{
	struct journal_head head;
	struct journal_entry entry;
	int error = journal_entry_read_head(
	    journal->format, journal->file, *at, &head);
	if (error != 0)
		return error;
	off_t end = *at + (off_t)journal_entry_head_bytes[journal->format] +
	    (off_t)head.payload_bytes;
	if (end > size)
		return E_MALFORMED;
	if (head.kind == JOURNAL_FINISHED) {
		forget(journal, head.id);
		*at = end;
		return 0;
	}
	error = journal_entry_read(journal->file, *at, &head, bytes, &entry);
	if (error == E_NO_MEMORY)
		return ENOMEM;
	if (error > 0)
		return error;
	if (error == E_MALFORMED || head.id < journal->next_id) {
		/* Its payload, with its key, or its id is not as written. */
		damage->entries++;
	} else {
		note_written(journal, head.id, *at, &entry);
		journal->n_open += journal->n_written;
		journal->n_written = 0;
		journal->next_id = head.id + 1;
	}
	*at = end;
	return 0;
}

int
journal_load(struct journal *journal, struct journal_damage *ret_damage)
{
	struct stat st;
	struct body bytes = {0};
	off_t at = 0;
	int error = 0;
	if (fstat(journal->file, &st) != 0)
		return errno;
	*ret_damage = (struct journal_damage){0};
	while (error == 0 && at < st.st_size) {
		error = load_record(
		    journal, &at, st.st_size, &bytes, ret_damage);
		if (error != E_MALFORMED)
			continue;
		/* From a damaged head on to the next whole one, or the end. */
		off_t next = st.st_size;
		if (journal->format != JOURNAL_1)
			error = journal_entry_find_head(
			    journal->file, at + 1, st.st_size, &next);
		if (error > 0)
			break;
		error = 0;
		ret_damage->lost_bytes += (uint64_t)(next - at);
		at = next;
	}
	body_clear(&bytes);
	journal->end = journal->synced = at;
	journal->torn = false;
	return error;
}

char *
journal_set_aside(int folder, const char *name)
{
	struct stat st;
	for (unsigned i = 1;; i++) {
		char *aside = mem_printf("%s" JOURNAL_ASIDE "%u", name, i);
		bool taken = fstatat(folder, aside, &st,
				 AT_SYMLINK_NOFOLLOW) == 0;
		if (!taken && errno == ENOENT &&
		    renameat(folder, name, folder, aside) == 0)
			return aside;
		free(aside); /* errno stays */
		if (!taken)
			return NULL;
	}
}

/* --- beginning and end --- */

bool
journal_format_of(const char *name, enum journal_format *ret_format)
{
	const char *ending = strrchr(name, '.');
	bool old = ending != NULL && strcmp(ending, JOURNAL_1_ENDING) == 0;
	*ret_format = old ? JOURNAL_1 : JOURNAL_2;
	return old || (ending != NULL && strcmp(ending, JOURNAL_ENDING) == 0);
}

struct journal *
journal_new(int folder, int file, const char *name)
{
	int own = fcntl(folder, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return NULL;
	struct journal *journal = mem_zero(sizeof *journal);
	must(journal_format_of(name, &journal->format));
	journal->folder = own;
	journal->file = file;
	journal->name = mem_text(name);
	journal->torn = true;
	journal->next_id = 1;
	must(pthread_mutex_init(&journal->mutex, NULL) == 0);
	return journal;
}

void
journal_give_up(struct journal **journal)
{
	struct journal *j = *journal;
	*journal = NULL;
	close(j->file); /* and with it the lock is given up */
	close(j->folder);
	free(j->name);
	free(j->message);
	free(j->entries);
	must(pthread_mutex_destroy(&j->mutex) == 0);
	free(j);
}

void
journal_close(struct journal **journal)
{
	struct journal *j = *journal;
	if (j == NULL)
		return;
	/* While it is locked, so that nobody can have adopted it. */
	bool empty = journal_open_entries(j, NULL) == 0;
	if (empty && j->spoiled)
		free(journal_set_aside(j->folder, j->name));
	else if (empty)
		unlinkat(j->folder, j->name, 0);
	journal_give_up(journal);
}
