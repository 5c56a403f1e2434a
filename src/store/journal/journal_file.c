/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test_build.h"
#include "store/journal/journal_file.h"

enum {
	LOOK_US = 1000000,
	PIECE_BYTES = 16 * 1024,
};

/* Makes it not writable, for the reason in what and errno; false. */
static bool
fail(struct journal_file *file, const char *what)
{
	int error = errno;
	free(file->message);
	file->message = mem_printf(
	    "%s %s: %s", file->name, what, strerror(error));
	errno = error;
	return false;
}

/*
 * Cuts off what is behind the end.  Nothing is written before that has
 * succeeded: behind a short record, the rest of a longer one that nobody was
 * answered for could be taken for an entry.
 */
static bool
rewind_end(struct journal_file *file)
{
	if (file->torn && INVARIANT(journal_mended) &&
	    ftruncate(file->fd, file->end) != 0)
		return fail(file, "cannot be truncated");
	file->torn = false;
	return true;
}

void
journal_file_cut(struct journal_file *file, off_t end)
{
	file->end = end;
	file->torn = true;
	rewind_end(file);
}

/* --- writing --- */

static bool
write_at(struct journal_file *file, const char *bytes, size_t len, off_t at)
{
	while (len > 0) {
		ssize_t written = pwrite(file->fd, bytes, len, at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written == 0)
			errno = ENOSPC; /* no file system should return that */
		if (written <= 0)
			return fail(file, "cannot be written");
		bytes += written;
		len -= (size_t)written;
		at += written;
	}
	return true;
}

/* A record on its way to the file, in pieces. */
struct unwritten {
	char bytes[PIECE_BYTES];
	size_t len;
	off_t at; /* of the piece */
};

static bool
flush(struct journal_file *file, struct unwritten *piece)
{
	bool ok = write_at(file, piece->bytes, piece->len, piece->at);
	piece->at += (off_t)piece->len;
	piece->len = 0;
	return ok;
}

/* Puts the mask on a part of the payload, which begins there in it. */
static bool
write_part(struct journal_file *file, struct unwritten *piece,
    const struct journal_head *head, size_t offset, struct span part)
{
	for (size_t done = 0; done < part.len;) {
		size_t room = sizeof piece->bytes - piece->len;
		size_t len = part.len - done < room ? part.len - done : room;
		memcpy(piece->bytes + piece->len, part.ptr + done, len);
		journal_entry_mask(
		    head, offset + done, piece->bytes + piece->len, len);
		piece->len += len;
		done += len;
		if (piece->len == sizeof piece->bytes && !flush(file, piece))
			return false;
	}
	return true;
}

/* Writes a record behind the end, and leaves the end where it is. */
static bool
write_record(struct journal_file *file, char letter, uint64_t id,
    const struct span *payload, unsigned n_payload)
{
	struct journal_head head = journal_entry_head(
	    file->format, letter, id, payload, n_payload);
	struct unwritten piece = {.at = file->end};
	size_t offset = 0;
	uint8_t bytes[JOURNAL_HEAD_BYTES];
	if (!rewind_end(file))
		return false;
	file->torn = true;
	journal_entry_put_head(&head, bytes);
	piece.len = journal_entry_head_bytes(file->format);
	memcpy(piece.bytes, bytes, piece.len);
	for (unsigned i = 0; i < n_payload; i++) {
		if (!write_part(file, &piece, &head, offset, payload[i]))
			return false;
		offset += payload[i].len;
	}
	return flush(file, &piece);
}

bool
journal_file_write(struct journal_file *file, char letter, uint64_t id,
    const struct span *payload, unsigned n_payload)
{
	if (!write_record(file, letter, id, payload, n_payload)) {
		rewind_end(file);
		return false;
	}
	file->end += (off_t)journal_entry_head_bytes(file->format);
	for (unsigned i = 0; i < n_payload; i++)
		file->end += (off_t)payload[i].len;
	file->torn = false;
	return true;
}

/* Without a name, what is written to it would end with this process. */
static bool
has_name(struct journal_file *file)
{
	struct stat st;
	if (fstat(file->fd, &st) != 0)
		return fail(file, "cannot be examined");
	errno = ENOENT;
	return st.st_nlink > 0 || !INVARIANT(journal_has_name) ||
	    fail(file, "was removed");
}

bool
journal_file_sync(struct journal_file *file)
{
	if (INVARIANT(journal_synced) && fdatasync(file->fd) != 0)
		return fail(file, "cannot be synced");
	return has_name(file);
}

/* --- whether it can be written --- */

static bool
has_room(struct journal_file *file)
{
	struct statvfs fs;
	if (fstatvfs(file->fd, &fs) != 0)
		return fail(
		    file, "is on a file system that cannot be examined");
	errno = ENOSPC;
	return (uint64_t)fs.f_bavail * fs.f_frsize >= JOURNAL_RESERVE_BYTES ||
	    fail(file, "has less than 1 MiB left to grow");
}

enum journal_look
journal_file_look(struct journal_file *file, int64_t now_us)
{
	if (now_us < file->look_us)
		return file->message == NULL ? JOURNAL_WELL : JOURNAL_UNWELL;
	file->look_us = now_us + LOOK_US;
	bool well = file->message == NULL && !file->torn;
	if (!has_room(file))
		return JOURNAL_UNWELL;
	return has_name(file) && well ? JOURNAL_WELL : JOURNAL_TO_BE_TRIED;
}

/*
 * It writes a record that means nothing (no entry has the id 0), and cuts it
 * off.
 */
bool
journal_file_try(struct journal_file *file)
{
	bool ok = write_record(file, JOURNAL_FINISHED, 0, NULL, 0) &&
	    journal_file_sync(file);
	ok = rewind_end(file) && ok;
	if (ok) {
		free(file->message);
		file->message = NULL;
	}
	return ok;
}

/* --- life --- */

void
journal_file_init(struct journal_file *file, enum journal_format format,
    int fd, const char *name)
{
	*file = (struct journal_file){.format = format,
	    .fd = fd,
	    .name = mem_str(span_str(name)),
	    .torn = true};
}

void
journal_file_end(struct journal_file *file)
{
	close(file->fd);
	free(file->name);
	free(file->message);
}
