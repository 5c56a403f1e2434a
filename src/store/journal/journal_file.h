/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "store/journal/journal_entry.h"

/*
 * The end of a journal's file: records are written behind it, synced, and cut
 * off again where that failed; and whether the disk takes any.  It knows the
 * bytes of a record (journal_entry.h), and not which entries are open.  One
 * thread at a time.
 */
struct journal_file {
	enum journal_format format;
	int fd;     /* locked */
	char *name; /* in its folder */
	off_t end; /* of what is valid: the next record goes here */
	/*
	 * There may be bytes behind the end.  True for a new file too, so that
	 * the first look at it has it tried.
	 */
	bool torn;
	char *message;   /* why it is not writable; NULL: it is */
	int64_t look_us; /* when to look at the disk again */
};

void journal_file_init(struct journal_file *file, enum journal_format format,
    int fd, const char *name);
/* Closes the descriptor, and with it gives up the lock. */
void journal_file_end(struct journal_file *file);

/* Writes a record; false: the file is as it was, and message says why. */
MUST_USE bool journal_file_write(struct journal_file *file, char letter,
    uint64_t id, const struct span *payload, unsigned n_payload);
/* Waits until the disk has it; false also where the file has no name. */
MUST_USE bool journal_file_sync(struct journal_file *file);
/* Makes this the end; where the disk does not allow that now, then later. */
void journal_file_cut(struct journal_file *file, off_t end);

/* The disk must have as much as this left for a claim to be forwarded. */
enum { JOURNAL_RESERVE_BYTES = 1024 * 1024 };

/* How it looks to whoever wants to write (journal_is_writable). */
enum journal_look {
	JOURNAL_WELL,
	JOURNAL_UNWELL,
	JOURNAL_TO_BE_TRIED, /* it was unwell, and may be well again */
};
enum journal_look journal_file_look(struct journal_file *file, int64_t now_us);
bool journal_file_try(struct journal_file *file);
