/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/journal/journal_aside.h"
#include "store/journal/journal_private.h"

enum { ROOM_FIRST = 16 };

/* An entry, and where it stands. */
struct entry_at {
	uint64_t id;
	off_t at;
	struct journal_about about;
};

struct journal {
	int folder;
	struct journal_file file;

	/* --- of whoever writes --- */
	off_t synced; /* the end of what the disk has for certain */
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

/* --- open entries --- */

/* The index of the first open entry that is not older than id. */
static unsigned
find_place(const struct journal *journal, uint64_t id)
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

static bool
is_open(const struct journal *journal, uint64_t id, unsigned *ret_place)
{
	*ret_place = find_place(journal, id);
	return *ret_place < journal->n_open &&
	    journal->entries[*ret_place].id == id;
}

/* Behind all others. */
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
	unsigned i;
	if (!is_open(journal, id, &i))
		return false;
	journal->n_open--;
	memmove(&journal->entries[i], &journal->entries[i + 1],
	    (journal->n_open + journal->n_written - i) *
		sizeof *journal->entries);
	return true;
}

/* Locks what all threads use, also through a pointer that only reads. */
static void
lock(const struct journal *journal)
{
	must(pthread_mutex_lock(
		 &((struct journal *)(uintptr_t)journal)->mutex) == 0);
}

static void
unlock(const struct journal *journal)
{
	must(pthread_mutex_unlock(
		 &((struct journal *)(uintptr_t)journal)->mutex) == 0);
}

const char *
journal_name(const struct journal *journal)
{
	return journal->file.name;
}

unsigned
journal_open_entries(const struct journal *journal)
{
	lock(journal);
	unsigned count = journal->n_open;
	unlock(journal);
	return count;
}

unsigned
journal_own_entries(const struct journal *journal, const struct origin *ours)
{
	unsigned count = 0;
	lock(journal);
	for (unsigned i = 0; i < journal->n_open; i++)
		count += origin_is_ours(
		    &journal->entries[i].about.origin, ours);
	unlock(journal);
	return count;
}

bool
journal_next(const struct journal *journal, const struct origin *ours,
    uint64_t after, uint64_t *ret_id)
{
	lock(journal);
	unsigned i = find_place(journal, after + 1);
	while (ours != NULL && i < journal->n_open &&
	    !origin_is_ours(&journal->entries[i].about.origin, ours))
		i++;
	bool found = i < journal->n_open;
	if (found)
		*ret_id = journal->entries[i].id;
	unlock(journal);
	return found;
}

/* Such an answer, among the first so many; or NULL. */
static const struct entry_at *
find_answer(const struct journal *journal, const struct origin *ours,
    const struct key_id *key_id, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		const struct entry_at *e = &journal->entries[i];
		if (e->about.kind == JOURNAL_COMPLETE &&
		    origin_is_ours(&e->about.origin, ours) &&
		    !memcmp(&e->about.key_id, key_id, sizeof *key_id))
			return e;
	}
	return NULL;
}

bool
journal_has_answer(const struct journal *journal, const struct origin *ours,
    const struct key_id *key_id)
{
	lock(journal);
	const void *found = find_answer(
	    journal, ours, key_id, journal->n_open + journal->n_written);
	unlock(journal);
	return found != NULL;
}

struct journal_about
journal_about(const struct journal *journal, uint64_t id)
{
	unsigned i;
	lock(journal);
	must(is_open(journal, id, &i));
	struct journal_about about = journal->entries[i].about;
	unlock(journal);
	return about;
}

static int
read_at(const struct journal *journal, struct entry_at e, struct body *bytes,
    struct journal_entry *ret_entry)
{
	struct journal_head head;
	const struct journal_file *f = &journal->file;
	int error = journal_entry_read_head(f->format, f->fd, e.at, &head);
	if (error != 0 || head.id != e.id)
		return E_MALFORMED;
	error = journal_entry_read(f->fd, e.at, &head, bytes, ret_entry);
	return error == 0 || error == E_NO_MEMORY ? error : E_MALFORMED;
}

int
journal_read(const struct journal *journal, uint64_t id, struct body *bytes,
    struct journal_entry *ret_entry)
{
	unsigned i;
	lock(journal);
	must(is_open(journal, id, &i));
	struct entry_at e = journal->entries[i];
	unlock(journal);
	return read_at(journal, e, bytes, ret_entry);
}

int
journal_read_answer(const struct journal *journal, const struct origin *ours,
    const struct key_id *key_id, struct body *bytes,
    struct journal_entry *ret_entry)
{
	lock(journal);
	const struct entry_at *found =
	    find_answer(journal, ours, key_id, journal->n_open);
	struct entry_at e = found != NULL ? *found : (struct entry_at){0};
	unlock(journal);
	return e.id == 0 ? E_NOT_FOUND
			 : read_at(journal, e, bytes, ret_entry);
}

void
journal_forget(struct journal *journal, uint64_t id)
{
	lock(journal);
	must(forget(journal, id));
	unlock(journal);
}

void
journal_spoil(struct journal *journal, uint64_t id)
{
	lock(journal);
	must(forget(journal, id));
	journal->spoiled = true;
	unlock(journal);
}

/* --- writing --- */

const char *
journal_message(const struct journal *journal)
{
	const char *message = journal->file.message;
	return message != NULL ? message : "";
}

bool
journal_write(struct journal *journal, const struct journal_entry *entry,
    uint64_t *ret_id)
{
	uint8_t fixed[JOURNAL_FIXED_BYTES];
	journal_entry_put_fixed(entry, fixed);
	struct span payload[JOURNAL_PARTS];
	journal_entry_parts(entry, fixed, payload);
	off_t at = journal->file.end;
	uint64_t id = journal->next_id;
	if (!journal_file_write(&journal->file,
		journal_entry_letter(entry->kind), id, payload,
		JOURNAL_PARTS))
		return false;
	lock(journal);
	note_written(journal, id, at, entry);
	unlock(journal);
	journal->next_id++;
	*ret_id = id;
	return true;
}

bool
journal_commit(struct journal *journal)
{
	bool synced = journal_file_sync(&journal->file);
	lock(journal);
	if (synced)
		journal->n_open += journal->n_written;
	journal->n_written = 0;
	unlock(journal);
	if (synced)
		journal->synced = journal->file.end;
	else
		journal_file_cut(&journal->file, journal->synced);
	return synced;
}

bool
journal_append(struct journal *journal, const struct journal_entry *entry,
    uint64_t *ret_id)
{
	uint64_t id;
	if (!journal_write(journal, entry, &id) || !journal_commit(journal))
		return false;
	*ret_id = id;
	return true;
}

void
journal_mark(struct journal *journal, uint64_t id)
{
	struct journal_file *file = &journal->file;
	must(file->end == journal->synced);
	lock(journal);
	bool empty = journal->n_open == 0 && !journal->spoiled;
	unlock(journal);
	if (empty)
		journal_file_cut(file, 0);
	else if (!journal_file_write(file, JOURNAL_FINISHED, id, NULL, 0))
		return;
	journal->synced = file->end;
}

void
journal_finish(struct journal *journal, uint64_t id)
{
	journal_forget(journal, id);
	journal_mark(journal, id);
}

enum journal_look
journal_look(struct journal *journal, int64_t now_us)
{
	return journal_file_look(&journal->file, now_us);
}

bool
journal_try(struct journal *journal)
{
	return journal_file_try(&journal->file);
}

bool
journal_is_writable(struct journal *journal, int64_t now_us)
{
	enum journal_look look = journal_look(journal, now_us);
	return look == JOURNAL_TO_BE_TRIED ? journal_try(journal)
					   : look == JOURNAL_WELL;
}

/* --- a file that was there --- */

/* An entry whose payload, and so whose key, is not what was written. */
static bool
is_damaged(const struct journal *journal, int error, uint64_t id)
{
	return error == E_MALFORMED || id < journal->next_id;
}

/* Takes in the entry of that head: 0, or an errno. */
static int
load_entry(struct journal *journal, off_t at, const struct journal_head *head,
    struct body *bytes, struct journal_damage *damage)
{
	struct journal_entry entry;
	int error =
	    journal_entry_read(journal->file.fd, at, head, bytes, &entry);
	if (error == E_NO_MEMORY)
		return ENOMEM;
	if (error > 0)
		return error;
	if (is_damaged(journal, error, head->id)) {
		damage->entries++;
		return 0;
	}
	note_written(journal, head->id, at, &entry);
	journal->n_open += journal->n_written;
	journal->n_written = 0;
	journal->next_id = head->id + 1;
	return 0;
}

/*
 * Takes in the record there, and moves *at behind it: 0; E_MALFORMED where
 * there is none; or an errno.  bytes is scratch memory.
 */
static int
load_record(struct journal *journal, off_t *at, off_t size, struct body *bytes,
    struct journal_damage *damage)
{
	enum journal_format format = journal->file.format;
	off_t head_bytes = (off_t)journal_entry_head_bytes(format);
	struct journal_head head;
	int error =
	    journal_entry_read_head(format, journal->file.fd, *at, &head);
	if (error == 0 && head.payload_bytes > size - *at - head_bytes)
		error = E_MALFORMED;
	if (error == 0 && head.kind == JOURNAL_FINISHED)
		forget(journal, head.id);
	else if (error == 0)
		error = load_entry(journal, *at, &head, bytes, damage);
	if (error == 0)
		*at += head_bytes + (off_t)head.payload_bytes;
	return error;
}

/* Moves *at from a damaged head to the next whole one; or to the end. */
static int
skip_damage(const struct journal *journal, off_t *at, off_t size,
    struct journal_damage *damage)
{
	off_t next = size;
	int error = E_MALFORMED;
	if (journal->file.format != JOURNAL_1)
		error = journal_entry_find_head(
		    journal->file.fd, *at + 1, size, &next);
	if (error > 0)
		return error;
	damage->lost_bytes += (uint64_t)(next - *at);
	*at = next;
	return 0;
}

int
journal_load(struct journal *journal, struct journal_damage *ret_damage)
{
	struct stat st;
	struct body bytes;
	off_t at = 0;
	int error = 0;
	if (fstat(journal->file.fd, &st) != 0)
		return errno;
	*ret_damage = (struct journal_damage){0};
	body_init(&bytes, NULL);
	while (error == 0 && at < st.st_size) {
		error = load_record(
		    journal, &at, st.st_size, &bytes, ret_damage);
		if (error == E_MALFORMED)
			error = skip_damage(
			    journal, &at, st.st_size, ret_damage);
	}
	body_clear(&bytes);
	journal->file.end = journal->synced = at;
	journal->file.torn = false;
	return error;
}

/* --- beginning and end --- */

bool
journal_format_of(const char *name, enum journal_format *ret_format)
{
	static const char *const endings[] = {
	    [JOURNAL_1] = JOURNAL_1_ENDING,
	    [JOURNAL_2] = JOURNAL_ENDING,
	};
	for (int format = JOURNAL_1; format <= JOURNAL_2; format++) {
		size_t len = strlen(name), tail = strlen(endings[format]);
		if (len < tail || strcmp(name + len - tail, endings[format]))
			continue;
		*ret_format = (enum journal_format)format;
		return true;
	}
	return false;
}

struct journal *
journal_new(int folder, int file, const char *name)
{
	struct journal *journal = mem_zero(sizeof *journal);
	enum journal_format format = JOURNAL_2;
	must(journal_format_of(name, &format));
	journal->folder = folder;
	journal_file_init(&journal->file, format, file, name);
	journal->next_id = 1;
	must(pthread_mutex_init(&journal->mutex, NULL) == 0);
	return journal;
}

void
journal_give_up(struct journal **journal)
{
	struct journal *j = *journal;
	*journal = NULL;
	journal_file_end(&j->file);
	close(j->folder);
	free(j->entries);
	must(pthread_mutex_destroy(&j->mutex) == 0);
	free(j);
}

void
journal_close(struct journal **journal)
{
	const struct journal *j = *journal;
	if (j == NULL)
		return;
	/* While it is locked, so that nobody can have adopted it. */
	if (journal_open_entries(j) == 0 && j->spoiled)
		free(journal_aside(j->folder, j->file.name));
	else if (journal_open_entries(j) == 0)
		unlinkat(j->folder, j->file.name, 0);
	journal_give_up(journal);
}
