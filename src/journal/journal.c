/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/test_build.h"
#include "journal/journal_entry.h"
#include "journal/journal_private.h"

enum {
	RESERVE_BYTES = 1024 * 1024,
	LOOK_US = 1000000,
	ROOM_FIRST = 16,
};

/* Where an open entry stands. */
struct entry_at {
	uint64_t id;
	off_t at;
	struct journal_about about;
};

struct journal {
	int folder;
	int file; /* locked */
	char *name;
	off_t end; /* of what is valid: the next record goes here */
	/*
	 * There may be bytes behind the end.  True for a new file too, so that
	 * the first journal_is_writable tries to write.
	 */
	bool torn;
	uint64_t next_id;
	struct entry_at *open; /* in the order of their ids */
	unsigned n_open;
	unsigned room;   /* in open */
	char *message;     /* why it is not writable; NULL: it is */
	int64_t look_us; /* when to look at the disk again */
};

/* --- open entries --- */

/* The index of the first open entry that is not older than id. */
static unsigned
find_place(const struct journal *journal, uint64_t id)
{
	unsigned low = 0, high = journal->n_open;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (journal->open[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool
is_open(const struct journal *journal, uint64_t id, unsigned *ret_place)
{
	*ret_place = find_place(journal, id);
	return *ret_place < journal->n_open &&
	    journal->open[*ret_place].id == id;
}

static void
remember(struct journal *journal, uint64_t id, off_t at,
    const struct journal_entry *entry)
{
	if (journal->n_open == journal->room) {
		journal->room =
		    journal->room ? 2 * journal->room : ROOM_FIRST;
		journal->open = mem_grow(
		    journal->open, journal->room * sizeof *journal->open);
	}
	journal->open[journal->n_open++] = (struct entry_at){
	    id, at, {entry->key_id, entry->answer.len}};
}

static bool
forget(struct journal *journal, uint64_t id)
{
	unsigned i;
	if (!is_open(journal, id, &i))
		return false;
	journal->n_open--;
	memmove(&journal->open[i], &journal->open[i + 1],
	    (journal->n_open - i) * sizeof *journal->open);
	return true;
}

const char *
journal_name(const struct journal *journal)
{
	return journal->name;
}

unsigned
journal_open_entries(const struct journal *journal)
{
	return journal->n_open;
}

bool
journal_next(const struct journal *journal, uint64_t after, uint64_t *ret_id)
{
	unsigned i = find_place(journal, after + 1);
	if (i == journal->n_open)
		return false;
	*ret_id = journal->open[i].id;
	return true;
}

struct journal_about
journal_about(const struct journal *journal, uint64_t id)
{
	unsigned i;
	must(is_open(journal, id, &i));
	return journal->open[i].about;
}

int
journal_read(const struct journal *journal, uint64_t id, struct body *bytes,
    struct journal_entry *ret_entry)
{
	struct journal_head head;
	unsigned i;
	must(is_open(journal, id, &i));
	off_t at = journal->open[i].at;
	int error = journal_entry_read_head(journal->file, at, &head);
	if (error == 0 && head.id != id)
		error = E_MALFORMED;
	if (error == 0)
		error = journal_entry_read(
		    journal->file, at, &head, bytes, ret_entry);
	return error == 0 || error == E_NO_MEMORY ? error : E_MALFORMED;
}

/* --- writing --- */

const char *
journal_message(const struct journal *journal)
{
	return journal->message != NULL ? journal->message : "";
}

/* Makes the journal not writable, for the reason in what and errno; false. */
static bool
fail(struct journal *journal, const char *what)
{
	int error = errno;
	free(journal->message);
	journal->message = mem_printf(
	    "%s %s: %s", journal->name, what, strerror(error));
	return false;
}

/*
 * Cuts off what is behind the end.  Nothing is written before that has
 * succeeded: behind a short record, the rest of a longer one could be anything,
 * even a whole record that an upstream made up.
 */
static bool
rewind_end(struct journal *journal)
{
	if (journal->torn && INVARIANT(journal_mended) &&
	    ftruncate(journal->file, journal->end) != 0)
		return fail(journal, "cannot be truncated");
	journal->torn = false;
	return true;
}

static void
moves_to(struct journal *journal, off_t end)
{
	journal->end = end;
	journal->torn = false;
}

/* Writes all parts behind the end, and leaves the end where it is. */
static bool
write_parts(struct journal *journal, struct iovec *parts, unsigned n_parts)
{
	off_t at = journal->end;
	journal->torn = true;
	while (n_parts > 0) {
		ssize_t len = pwritev(journal->file, parts, (int)n_parts, at);
		if (len < 0 && errno == EINTR)
			continue;
		if (len == 0)
			errno = ENOSPC; /* no file system should return that */
		if (len <= 0)
			return fail(journal, "cannot be written");
		at += len;
		size_t left = (size_t)len;
		while (n_parts > 0 && left >= parts->iov_len) {
			left -= parts->iov_len;
			parts++;
			n_parts--;
		}
		if (left > 0) {
			parts->iov_base = (char *)parts->iov_base + left;
			parts->iov_len -= left;
		}
	}
	return true;
}

static struct iovec
part_of(struct span s)
{
	/* Only written from; struct iovec has no const. */
	return (struct iovec){(void *)(uintptr_t)s.ptr, s.len};
}

/* Writes a record behind the end; the caller then moves the end, or rewinds. */
static bool
write_record(struct journal *journal, char letter, uint64_t id,
    const struct span *payload, unsigned n_payload)
{
	struct iovec parts[4];
	uint8_t head[JOURNAL_HEAD_BYTES];
	unsigned n_parts = 0;
	must(n_payload < sizeof parts / sizeof *parts);
	journal_entry_put_head(letter, id, payload, n_payload, head);
	parts[n_parts++] = (struct iovec){head, sizeof head};
	for (unsigned i = 0; i < n_payload; i++)
		parts[n_parts++] = part_of(payload[i]);
	return rewind_end(journal) && write_parts(journal, parts, n_parts);
}

/*
 * Syncs; false also where the file has no name any more: what is written to it
 * would end with this process.
 */
static bool
sync_file(struct journal *journal)
{
	struct stat st;
	if (INVARIANT(journal_synced) && fdatasync(journal->file) != 0)
		return fail(journal, "cannot be synced");
	if (fstat(journal->file, &st) != 0)
		return fail(journal, "cannot be examined");
	errno = ENOENT;
	return st.st_nlink > 0 || !INVARIANT(journal_has_name) ||
	    fail(journal, "was removed");
}

bool
journal_append(struct journal *journal, const struct journal_entry *entry,
    uint64_t *ret_id)
{
	uint8_t fixed[JOURNAL_FIXED_BYTES];
	journal_entry_put_fixed(entry, fixed);
	const struct span payload[] = {
	    span_of(fixed, sizeof fixed),
	    entry->route,
	    entry->answer,
	};
	uint64_t id = journal->next_id;
	if (!write_record(
		journal, journal_entry_letter(entry->kind), id, payload, 3) ||
	    !sync_file(journal)) {
		rewind_end(journal);
		return false;
	}
	remember(journal, id, journal->end, entry);
	journal->next_id++;
	moves_to(journal, journal->end + JOURNAL_HEAD_BYTES +
	    JOURNAL_FIXED_BYTES + (off_t)entry->route.len +
	    (off_t)entry->answer.len);
	*ret_id = id;
	return true;
}

void
journal_finish(struct journal *journal, uint64_t id)
{
	must(forget(journal, id));
	if (journal->n_open == 0) {
		journal->end = 0;
		journal->torn = true;
		rewind_end(journal);
	} else if (write_record(journal, JOURNAL_FINISHED, id, NULL, 0)) {
		moves_to(journal, journal->end + JOURNAL_HEAD_BYTES);
	} else {
		rewind_end(journal);
	}
}

/* --- whether it can be written --- */

/*
 * Writes a record that means nothing (no entry has the id 0), and cuts it off.
 */
static bool
try_writing(struct journal *journal)
{
	bool ok = write_record(journal, JOURNAL_FINISHED, 0, NULL, 0) &&
	    sync_file(journal);
	return rewind_end(journal) && ok;
}

static bool
has_room(struct journal *journal)
{
	struct statvfs fs;
	if (fstatvfs(journal->file, &fs) != 0)
		return fail(
		    journal, "is on a file system that cannot be examined");
	errno = ENOSPC;
	return (uint64_t)fs.f_bavail * fs.f_frsize >= RESERVE_BYTES ||
	    fail(journal, "has less than 1 MiB left to grow");
}

/* Nothing is known to have gone wrong since the last look. */
static bool
seems_well(const struct journal *journal)
{
	struct stat st;
	return journal->message == NULL && !journal->torn &&
	    fstat(journal->file, &st) == 0 && st.st_nlink > 0;
}

bool
journal_is_writable(struct journal *journal, int64_t now_us)
{
	if (now_us < journal->look_us)
		return journal->message == NULL;
	journal->look_us = now_us + LOOK_US;
	bool ok = seems_well(journal);
	if (has_room(journal) && (ok || try_writing(journal))) {
		free(journal->message);
		journal->message = NULL;
	}
	return journal->message == NULL;
}

/* --- a file that was there --- */

/*
 * Takes in the record at the end, and moves the end behind it: 0; E_MALFORMED
 * where there is none; or an errno.  bytes is scratch memory.
 */
static int
load_entry(struct journal *journal, off_t size, struct body *bytes,
    struct journal_damage *damage)
{
	struct journal_head head;
	struct journal_entry entry;
	off_t at = journal->end;
	int error = journal_entry_read_head(journal->file, at, &head);
	if (error != 0)
		return error;
	if (head.payload_bytes > size - at - JOURNAL_HEAD_BYTES)
		return E_MALFORMED;
	if (head.kind == JOURNAL_FINISHED) {
		forget(journal, head.id);
	} else {
		error = journal_entry_read(
		    journal->file, at, &head, bytes, &entry);
		if (error == E_NO_MEMORY)
			return ENOMEM;
		if (error > 0)
			return error;
		if (error == 0 && head.id >= journal->next_id) {
			remember(journal, head.id, at, &entry);
			journal->next_id = head.id + 1;
		} else {
			damage->entries++;
		}
	}
	journal->end = at + JOURNAL_HEAD_BYTES + (off_t)head.payload_bytes;
	return 0;
}

int
journal_load(struct journal *journal, struct journal_damage *ret_damage)
{
	struct stat st;
	struct body bytes;
	int error = 0;
	if (fstat(journal->file, &st) != 0)
		return errno;
	*ret_damage = (struct journal_damage){0};
	body_init(&bytes, NULL);
	while (error == 0 && journal->end < st.st_size)
		error = load_entry(journal, st.st_size, &bytes, ret_damage);
	body_clear(&bytes);
	if (error > 0)
		return error;
	ret_damage->cut_bytes = (uint64_t)(st.st_size - journal->end);
	rewind_end(journal);
	return 0;
}

/* --- beginning and end --- */

struct journal *
journal_new(int folder, int file, const char *name)
{
	struct journal *journal = mem_zero(sizeof *journal);
	journal->folder = folder;
	journal->file = file;
	journal->name = mem_str(span_str(name));
	journal->next_id = 1;
	journal->torn = true;
	return journal;
}

void
journal_give_up(struct journal **journal)
{
	struct journal *j = *journal;
	*journal = NULL;
	close(j->file); /* and with it the lock */
	close(j->folder);
	free(j->name);
	free(j->open);
	free(j->message);
	free(j);
}

void
journal_close(struct journal **journal)
{
	if (*journal == NULL)
		return;
	/* While it is locked, so that nobody can have adopted it. */
	if ((*journal)->n_open == 0)
		unlinkat((*journal)->folder, (*journal)->name, 0);
	journal_give_up(journal);
}
