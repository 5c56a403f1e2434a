/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "lib/folder.h"
#include "lib/journal_entries.h"
#include "store/journal/journal_folder.h"

/*
 * What the tests of the journal share: a folder, sample entries that differ in
 * their attempt, and what adoption found.
 */
enum { MOST = 64, FILE_MAX = 8192 };

struct test {
	char folder[FOLDER_MAX];
	/* What adoption found: */
	struct journal *journals[MOST];
	unsigned n_journals;
	unsigned files, damaged, errors, foreign;
	unsigned racer; /* of a child */
	uint64_t lost_bytes;
	char aside[256]; /* what a damaged file was called last; or "" */
	struct journal_folder known; /* from one look to the next */
	struct origin ours;
};

static inline int
set_up(void **state)
{
	signal(SIGXFSZ, SIG_IGN);
	struct test *test = mem_zero(sizeof *test);
	folder_make("journal", test->folder);
	*state = test;
	return 0;
}

static inline void
drop_found(struct test *test)
{
	for (unsigned i = 0; i < test->n_journals; i++)
		journal_close(&test->journals[i]);
	test->n_journals = test->files = test->damaged = test->errors = 0;
	test->foreign = 0;
	test->lost_bytes = 0;
	test->aside[0] = '\0';
}

static inline int
tear_down(void **state)
{
	struct test *test = *state;
	drop_found(test);
	journal_folder_forget(&test->known);
	folder_remove(test->folder);
	free(test);
	return 0;
}

static inline void
take_found(struct test *test, const struct journal_found *found)
{
	test->files++;
	test->damaged += found->damaged;
	test->lost_bytes += found->lost_bytes;
	test->errors += found->error != 0;
	test->foreign += found->foreign;
	if (found->aside != NULL)
		snprintf(test->aside, sizeof test->aside, "%s", found->aside);
	if (found->journal != NULL) {
		assert_true(
		    journal_open_entries(found->journal, &test->ours) > 0);
		assert_true(test->n_journals < MOST);
		test->journals[test->n_journals++] = found->journal;
	}
}

static inline void
adopt(struct test *test)
{
	struct journal_found *found;
	struct list list;
	char *message = NULL;
	list_init(&list);
	drop_found(test);
	if (!journal_folder_adopt(&test->known, test->folder, &test->ours,
		true, &list, &message))
		fail_msg("%s", message);
	LIST_EACH(found, &list, link) {
		take_found(test, found);
		journal_folder_found_free(&found);
	}
}

static inline struct journal *
open_one(struct test *test)
{
	struct journal *journal = NULL;
	char *message = NULL;
	if (!journal_folder_open(test->folder, 3, &journal, &message))
		fail_msg("%s", message);
	return journal;
}

/* --- entries --- */

static inline struct journal_entry
entry_of(enum journal_kind kind, uint32_t attempt, struct span answer)
{
	struct journal_entry entry = {
	    .kind = kind,
	    .attempt = attempt,
	    .release = kind == JOURNAL_RELEASE ? RELEASE_COUNTED
	    				      : RELEASE_UNSENT,
	    .reason = kind == JOURNAL_UNKNOWN ? REASON_DRAIN : REASON_NONE,
	    .retention_ms = INT64_C(86400000) + attempt,
	    .unknown_retention_ms = INT64_C(31536000000),
	    .deadline_ms = attempt,
	    .tries = attempt + 1,
	    .created_ms = INT64_C(1700000000000) + attempt,
	    .provenance = SPAN("payments\0\n"),
	    .entity = attempt % 2 ? SPAN("sixteen_bytes_of") : SPAN(""),
	    .version = attempt % 2 ? SPAN("125000000007") : SPAN(""),
	    .shown = attempt % 2 ? SPAN("7") : SPAN(""),
	    .answer = answer,
	};
	memset(entry.key_id.bytes, (int)attempt, sizeof entry.key_id.bytes);
	memset(entry.owner.bytes, 255 - (int)attempt,
	    sizeof entry.owner.bytes);
	memset(entry.fingerprint, 100 + (int)attempt,
	    sizeof entry.fingerprint);
	return entry;
}

/* Writes one entry and commits it. */
static inline bool
journal_append(struct journal *journal, const struct journal_entry *entry,
    uint64_t *ret_id)
{
	uint64_t id;
	if (!journal_write(journal, entry, &id) || !journal_commit(journal))
		return false;
	*ret_id = id;
	return true;
}

static inline void
journal_finish(struct journal *journal, uint64_t id)
{
	journal_forget(journal, id, false);
	journal_mark(journal, id);
}

static inline uint64_t
append(struct journal *journal, const struct journal_entry *entry)
{
	uint64_t id = 0;
	if (!journal_append(journal, entry, &id))
		fail_msg("%s", journal_message(journal));
	assert_true(id > 0);
	return id;
}

/* A few entries of all kinds, to be cut and damaged. */
enum { N_SAMPLES = 4 };

static inline void
samples(struct journal_entry ret_entries[N_SAMPLES])
{
	ret_entries[0] = entry_of(JOURNAL_COMPLETE, 1, SPAN("p\noj1\nC\0\1"));
	ret_entries[1] = entry_of(JOURNAL_RELEASE, 2, SPAN(""));
	ret_entries[2] = entry_of(JOURNAL_UNKNOWN, 3, SPAN(""));
	ret_entries[3] = entry_of(JOURNAL_COMPLETE, 4, SPAN("p\nlast"));
}

/* Asserts that exactly these samples are open, in this order. */
static inline unsigned
check_samples(struct journal *journal)
{
	struct journal_entry want[N_SAMPLES], got;
	struct body bytes = {0};
	unsigned seen = 0;
	samples(want);
	for (uint64_t id = 0; journal_next(journal, NULL, id, &id, NULL);) {
		assert_int_equal(journal_read(journal, id, &bytes, &got), 0);
		assert_in_range(got.attempt, 1, N_SAMPLES);
		assert_true(seen < 1U << got.attempt);
		assert_true(
		    entries_are_equal(&got, &want[got.attempt - 1]));
		seen |= 1U << got.attempt;
	}
	body_clear(&bytes);
	return seen;
}

/* Which samples were adopted: a bit for each. */
static inline unsigned
adopted_samples(struct test *test)
{
	return test->n_journals > 0 ? check_samples(test->journals[0]) : 0;
}

/* --- files --- */

/* Of a file that is evidence and no journal. */
static inline bool
is_aside(const char *name)
{
	return strstr(name, ".damaged-") != NULL;
}

/* The path of the one journal in the folder, or "". */
static inline void
only_file(const struct test *test, char ret_path[512])
{
	char path[512];
	snprintf(path, sizeof path, "%s/journal", test->folder);
	DIR *names = opendir(path);
	const struct dirent *entry;
	ret_path[0] = '\0';
	assert_non_null(names);
	while ((entry = readdir(names)) != NULL) {
		if (entry->d_name[0] == '.' || is_aside(entry->d_name))
			continue;
		assert_string_equal(ret_path, "");
		snprintf(ret_path, 512, "%s/journal/%s", test->folder,
		    entry->d_name);
	}
	closedir(names);
}

static inline size_t
bytes_of(const char *path, char *ret_bytes)
{
	int file = open(path, O_RDONLY);
	assert_true(file >= 0);
	ssize_t len = read(file, ret_bytes, FILE_MAX);
	close(file);
	assert_in_range(len, 0, FILE_MAX - 1);
	return (size_t)len;
}

static inline size_t
file_bytes(const struct test *test, char *ret_bytes)
{
	char path[512];
	only_file(test, path);
	return bytes_of(path, ret_bytes);
}

/* Asserts that the damaged file is kept, byte for byte; and removes it. */
static inline void
aside_has(const struct test *test, const char *bytes, size_t len)
{
	char path[512], kept[FILE_MAX];
	assert_string_not_equal(test->aside, "");
	snprintf(path, sizeof path, "%s/journal/%s", test->folder, test->aside);
	assert_int_equal(bytes_of(path, kept), len);
	assert_memory_equal(kept, bytes, len);
	assert_int_equal(unlink(path), 0);
}
