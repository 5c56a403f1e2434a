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
#include "journal/journal_folder.h"
#include "lib/folder.h"
#include "lib/journal_entries.h"

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
	unsigned files, damaged, errors;
	unsigned racer; /* of a child */
	uint64_t cut_bytes;
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
	test->cut_bytes = 0;
}

static inline int
tear_down(void **state)
{
	struct test *test = *state;
	drop_found(test);
	folder_remove(test->folder);
	free(test);
	return 0;
}

static inline void
on_found(void *arg, const struct journal_found *found)
{
	struct test *test = arg;
	test->files++;
	test->damaged += found->damaged;
	test->cut_bytes += found->cut_bytes;
	test->errors += found->error != 0;
	if (found->journal != NULL) {
		assert_true(journal_open_entries(found->journal) > 0);
		assert_true(test->n_journals < MOST);
		test->journals[test->n_journals++] = found->journal;
	}
}

static inline void
adopt(struct test *test)
{
	char *message = NULL;
	drop_found(test);
	if (!journal_folder_adopt(test->folder, on_found, test, &message))
		fail_msg("%s", message);
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
	    .sent = kind == JOURNAL_RELEASE,
	    .reason = kind == JOURNAL_UNKNOWN ? REASON_DRAIN : REASON_NONE,
	    .retention_ms = INT64_C(86400000) + attempt,
	    .unknown_retention_ms = INT64_C(31536000000),
	    .route = SPAN("payments\0\n"),
	    .answer = answer,
	};
	memset(entry.key_id.bytes, (int)attempt, sizeof entry.key_id.bytes);
	memset(entry.owner.bytes, 255 - (int)attempt,
	    sizeof entry.owner.bytes);
	return entry;
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
	struct body bytes;
	unsigned seen = 0;
	samples(want);
	body_init(&bytes, NULL);
	for (uint64_t id = 0; journal_next(journal, id, &id);) {
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

/* The path of the one file in the folder, or "". */
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
		if (entry->d_name[0] == '.')
			continue;
		assert_string_equal(ret_path, "");
		snprintf(ret_path, 512, "%s/journal/%s", test->folder,
		    entry->d_name);
	}
	closedir(names);
}

static inline size_t
file_bytes(const struct test *test, char *ret_bytes)
{
	char path[512];
	only_file(test, path);
	int file = open(path, O_RDONLY);
	assert_true(file >= 0);
	ssize_t len = read(file, ret_bytes, FILE_MAX);
	close(file);
	assert_in_range(len, 0, FILE_MAX - 1);
	return (size_t)len;
}
