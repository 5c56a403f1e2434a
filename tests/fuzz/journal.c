/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "lib/journal_entries.h"
#include "store/journal/journal_entry.h"
#include "store/journal/journal.h"

/*
 * A journal is written as the input says, then damaged as it says, and loaded
 * as after a crash.  What comes back was written like that; what stands in
 * front of the damage comes back, and behind it whatever is whole; the file
 * stays as it was.  The input is commands:
 *
 *   C n bytes, R, U   an entry of that kind, with that answer
 *   s n               the n-th entry is settled
 *   o letter n bytes  a record with right checksums and any payload
 *   x at at by        a byte of the file is changed
 *   t at at           the file is cut
 *   g n bytes         bytes behind the last record
 */
enum { ENTRIES_MAX = 16 };

struct written {
	struct journal_entry entry;
	size_t end; /* offset of the record in the file */
	bool settled;
};

struct story {
	struct span script;
	struct body file;
	struct written list[ENTRIES_MAX];
	size_t count;
	uint64_t next_id;
	size_t intact; /* bytes before the first damage */
	bool odd;      /* some records were forged */
};

static unsigned
take_byte(struct story *s)
{
	if (s->script.len == 0)
		return 0;
	unsigned byte = (unsigned char)s->script.ptr[0];
	s->script = span_from(s->script, 1);
	return byte;
}

static size_t
take_place(struct story *s)
{
	size_t at = take_byte(s);
	at = at << 8 | take_byte(s);
	return s->file.len > 0 ? at % s->file.len : 0;
}

static struct span
take_bytes(struct story *s)
{
	size_t len = take_byte(s);
	if (len > s->script.len)
		len = s->script.len;
	struct span bytes = span_of(s->script.ptr, len);
	s->script = span_from(s->script, len);
	return bytes;
}

static void
add(struct story *s, struct span bytes)
{
	must(body_append(&s->file, bytes.ptr, bytes.len) == 0);
}

static void
add_record(
    struct story *s, char letter, uint64_t id, const struct span parts[2])
{
	uint8_t bytes[JOURNAL_HEAD_BYTES];
	struct journal_head head = journal_entry_put_head(
	    JOURNAL_2, letter, id, parts, 2, bytes);

	add(s, span_of(bytes, sizeof bytes));
	size_t at = s->file.len;
	add(s, parts[0]);
	add(s, parts[1]);
	journal_entry_mask(&head, 0, s->file.ptr + at, s->file.len - at);
}

static void
write_entry(struct story *s, enum journal_kind kind, struct span answer)
{
	uint8_t fixed[JOURNAL_FIXED_BYTES];
	struct span all[JOURNAL_PARTS];
	struct journal_entry entry = {
		.kind = kind,
		.attempt = (uint32_t)s->next_id,
		.release = kind == JOURNAL_RELEASE ? RELEASE_COUNTED
						      : RELEASE_UNSENT,
		.reason = kind == JOURNAL_UNKNOWN ? REASON_DRAIN : REASON_NONE,
		.retention_ms = 86400000,
		.unknown_retention_ms = INT64_C(31536000000),
		.provenance = SPAN(""),
		.answer = answer,
	};

	if (s->count == ENTRIES_MAX)
		return;
	memset(entry.key_id.bytes, (int)s->count, sizeof entry.key_id.bytes);
	memset(entry.owner.bytes, 'o', sizeof entry.owner.bytes);
	char letter = journal_entry_put(&entry, fixed, all);
	const struct span parts[] = {all[0], answer};
	add_record(s, letter, s->next_id++, parts);
	s->list[s->count++] =
	    (struct written){entry, s->file.len, false};
}

static void
settle(struct story *s, unsigned n)
{
	const struct span none[] = {SPAN(""), SPAN("")};

	if (n >= s->count || s->list[n].settled)
		return;
	s->list[n].settled = true;
	add_record(s, JOURNAL_FINISHED, s->list[n].entry.attempt, none);
}

static void
write_odd(struct story *s)
{
	char letter = (char)take_byte(s);
	const struct span parts[] = {take_bytes(s), SPAN("")};

	s->odd = true;
	add_record(s, letter, s->next_id++, parts);
}

static void
damaged_from(struct story *s, size_t at)
{
	if (at < s->intact)
		s->intact = at;
}

static void
damage(struct story *s, unsigned command)
{
	size_t at = command == 'g' ? s->file.len : take_place(s);

	damaged_from(s, at);
	if (command == 'g')
		add(s, take_bytes(s));
	else if (command == 't')
		s->file.len = at;
	else if (s->file.len > 0)
		s->file.ptr[at] ^= (char)take_byte(s);
}

static void
write_file(struct story *s)
{
	bool whole = true; /* nothing is damaged yet */

	s->next_id = 1;
	s->intact = SIZE_MAX;
	while (s->script.len > 0) {
		unsigned command = take_byte(s);
		bool harms = command == 'x' || command == 't' ||
		    command == 'g';
		if (harms)
			damage(s, command);
		whole = whole && !harms;
		if (!whole)
			continue;
		if (command == 'C')
			write_entry(s, JOURNAL_COMPLETE, take_bytes(s));
		else if (command == 'R')
			write_entry(s, JOURNAL_RELEASE, SPAN(""));
		else if (command == 'U')
			write_entry(s, JOURNAL_UNKNOWN, SPAN(""));
		else if (command == 's')
			settle(s, take_byte(s));
		else if (command == 'o')
			write_odd(s);
	}
}

/* --- the crash --- */

static struct journal *
load(int file, struct journal_damage *ret_damage)
{
	int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int own = dup(file);
	must(folder >= 0 && own >= 0);
	struct journal *journal =
	    journal_new(folder, own, "fuzz" JOURNAL_ENDING);

	must(journal != NULL && journal_load(journal, ret_damage) == 0);
	close(folder);
	return journal;
}

static const struct written *
find(const struct story *s, uint64_t id)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->list[i].entry.attempt == id)
			return &s->list[i];
	}
	return NULL;
}

/* Checks that all open entries were written; returns a sum over them. */
static uint64_t
check_open(const struct story *s, struct journal *journal)
{
	struct journal_entry entry;
	struct body bytes = {0};
	uint64_t sum = journal_open_entries(journal, NULL);

	for (uint64_t id = 0; journal_next(journal, NULL, id, &id, NULL);) {
		const struct written *w = find(s, id);
		must(journal_read(journal, id, &bytes, &entry) == 0);
		must(w != NULL ? entries_are_equal(&w->entry, &entry) : s->odd);
		sum = 31 * sum + id;
	}
	body_clear(&bytes);
	return sum;
}

static bool
is_open(struct journal *journal, uint64_t id)
{
	uint64_t found;
	return journal_next(journal, NULL, id - 1, &found, NULL) && found == id;
}

static void
nothing_is_lost(const struct story *s, struct journal *journal)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct written *w = &s->list[i];
		if (!w->settled && w->end <= s->intact)
			must(is_open(journal, w->entry.attempt));
		if (w->settled && s->intact == SIZE_MAX)
			must(!is_open(journal, w->entry.attempt));
	}
}

void
fuzz_journal(struct span input)
{
	struct story s = {.script = input};
	struct journal_damage first, second;

	write_file(&s);
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	must(file >= 0);
	must(write(file, body_span(&s.file).ptr, s.file.len) ==
	    (ssize_t)s.file.len);

	struct journal *journal = load(file, &first);
	uint64_t sum = check_open(&s, journal);
	nothing_is_lost(&s, journal);
	must(s.intact != SIZE_MAX || first.lost_bytes == 0);
	must(first.lost_bytes <= s.file.len);
	must(lseek(file, 0, SEEK_END) == (off_t)s.file.len);
	must(s.odd || s.intact != SIZE_MAX || first.entries == 0);
	journal_give_up(&journal);

	journal = load(file, &second);
	must(check_open(&s, journal) == sum);
	must(second.lost_bytes == first.lost_bytes &&
	    second.entries == first.entries);
	journal_give_up(&journal);
	close(file);
	body_clear(&s.file);
}
