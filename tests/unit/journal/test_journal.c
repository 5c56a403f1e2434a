/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal_try.h"

#include <sys/syscall.h>

/*
 * Whatever was put into the journal comes out of it, whatever happened to the
 * file.
 */

/* Makes a file as another process could have left it. */
static void
leave_file(const struct test *test, const char *bytes, size_t len)
{
	char path[512];
	snprintf(path, sizeof path, "%s/journal/1-0-left.journal1",
	    test->folder);
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(file, bytes, len), len);
	close(file);
}

/* Empties the folder. */
static void
forget_files(struct test *test)
{
	for (unsigned i = 0; i < test->n_journals; i++)
		for (uint64_t id;
		     journal_next(test->journals[i], 0, &id);)
			journal_finish(test->journals[i], id);
	drop_found(test);
}

/*
 * The bytes of a file with the samples, the second of which is finished at the
 * end; ret_ends are the sizes after each record.
 */
static size_t
sample_file(struct test *test, char *ret_bytes, size_t ret_ends[N_SAMPLES + 1])
{
	struct journal_entry entries[N_SAMPLES];
	struct journal *journal = open_one(test);
	uint64_t ids[N_SAMPLES];
	size_t len = 0;
	samples(entries);
	for (unsigned i = 0; i <= N_SAMPLES; i++) {
		if (i < N_SAMPLES)
			ids[i] = append(journal, &entries[i]);
		else
			journal_finish(journal, ids[1]);
		len = file_bytes(test, ret_bytes);
		assert_true(i == 0 || len > ret_ends[i - 1]);
		ret_ends[i] = len;
	}
	journal_close(&journal);
	adopt(test);
	forget_files(test);
	return len;
}

/* --- tests --- */

static void
every_kind_comes_back_as_it_was(void **state)
{
	struct test *test = *state;
	static char large[300000];
	for (size_t i = 0; i < sizeof large; i++)
		large[i] = (char)(i * 7 + i / 251);
	struct journal_entry entries[] = {
	    entry_of(JOURNAL_COMPLETE, 1, SPAN("p\n200 - 0 0 0 2\n\nok")),
	    entry_of(JOURNAL_COMPLETE, 2, SPAN("")),
	    entry_of(JOURNAL_COMPLETE, 3, span_of(large, sizeof large)),
	    entry_of(JOURNAL_RELEASE, 999999, SPAN("")),
	    entry_of(JOURNAL_RELEASE, 5, SPAN("")),
	    entry_of(JOURNAL_UNKNOWN, 6, SPAN("")),
	};
	enum { N = sizeof entries / sizeof *entries };
	entries[1].route = SPAN("");
	entries[4].sent = false;
	entries[5].retention_ms = INT64_MAX;
	struct journal *journal = open_one(test);
	for (unsigned i = 0; i < N; i++)
		append(journal, &entries[i]);
	for (unsigned round = 0; round < 2; round++) {
		struct journal_entry got;
		struct body bytes;
		uint64_t id = 0;
		body_init(&bytes, NULL);
		assert_int_equal(journal_open_entries(journal), N);
		for (unsigned i = 0; i < N; i++) {
			assert_true(journal_next(journal, id, &id));
			struct journal_about about =
			    journal_about(journal, id);
			assert_memory_equal(&about.key_id,
			    &entries[i].key_id, sizeof about.key_id);
			assert_int_equal(
			    about.answer_bytes, entries[i].answer.len);
			assert_int_equal(
			    journal_read(journal, id, &bytes, &got), 0);
			assert_true(entries_are_equal(&got, &entries[i]));
		}
		assert_false(journal_next(journal, id, &id));
		body_clear(&bytes);
		if (round == 1)
			break;
		journal_close(&journal);
		adopt(test);
		assert_int_equal(test->n_journals, 1);
		journal = test->journals[0];
	}
	assert_int_equal(test->damaged + test->errors, 0);
	assert_int_equal(test->cut_bytes, 0);
}

static void
a_file_cut_at_any_byte_has_what_is_whole(void **state)
{
	struct test *test = *state;
	char bytes[FILE_MAX], left[FILE_MAX];
	size_t ends[N_SAMPLES + 1];
	size_t len = sample_file(test, bytes, ends);
	for (size_t cut = 0; cut <= len; cut++) {
		unsigned want = 0, whole = 0;
		leave_file(test, bytes, cut);
		while (whole <= N_SAMPLES && ends[whole] <= cut)
			whole++;
		for (unsigned i = 0; i < whole && i < N_SAMPLES; i++)
			want |= 2U << i;
		if (whole > N_SAMPLES)
			want &= ~4U; /* the second is finished */
		size_t end = whole > 0 ? ends[whole - 1] : 0;
		adopt(test);
		assert_int_equal(adopted_samples(test), want);
		assert_int_equal(test->cut_bytes, cut - end);
		assert_int_equal(test->damaged + test->errors, 0);
		if (want != 0)
			assert_int_equal(file_bytes(test, left), end);
		forget_files(test);
	}
}

static void
a_damaged_byte_never_makes_another_entry(void **state)
{
	struct test *test = *state;
	static const char flips[] = {1, 0x20, (char)0x80, (char)0xff};
	char bytes[FILE_MAX];
	size_t ends[N_SAMPLES + 1];
	size_t len = sample_file(test, bytes, ends);
	for (size_t at = 0; at < len; at++)
		for (unsigned i = 0; i < sizeof flips; i++) {
			unsigned record = 0, before = 0, stepped_over = 0;
			bytes[at] ^= flips[i];
			leave_file(test, bytes, len);
			bytes[at] ^= flips[i];
			while (ends[record] <= at)
				record++;
			for (unsigned k = 0; k < record && k < N_SAMPLES; k++)
				before |= 2U << k;
			for (unsigned k = record + 1; k < N_SAMPLES; k++)
				stepped_over |= 2U << k;
			adopt(test);
			unsigned seen = adopted_samples(test);
			if (test->damaged == 1)
				before = (before | stepped_over) & ~4U;
			else
				assert_true(test->cut_bytes > 0);
			assert_int_equal(seen, before);
			forget_files(test);
		}
}

static void
an_entry_that_is_there_twice_is_taken_once(void **state)
{
	struct test *test = *state;
	char bytes[2 * FILE_MAX];
	size_t ends[N_SAMPLES + 1];
	sample_file(test, bytes, ends);
	size_t len = ends[N_SAMPLES - 1];
	memcpy(bytes + len, bytes, len);
	leave_file(test, bytes, 2 * len);
	adopt(test);
	assert_int_equal(adopted_samples(test), 2 + 4 + 8 + 16);
	assert_int_equal(journal_open_entries(test->journals[0]), N_SAMPLES);
	assert_int_equal(test->damaged, N_SAMPLES);
	forget_files(test);
}

static size_t
any_below(size_t bound)
{
	return (size_t)random() % bound;
}

static void
any_bytes_are_read_without_harm(void **state)
{
	struct test *test = *state;
	char bytes[FILE_MAX], random[256];
	size_t ends[N_SAMPLES + 1];
	size_t len = sample_file(test, bytes, ends);
	srandom(20240229);
	for (unsigned round = 0; round < 500; round++) {
		char copy[FILE_MAX];
		size_t from = any_below(len);
		size_t to = any_below(len);
		size_t n = any_below(sizeof random);
		for (size_t i = 0; i < n; i++)
			random[i] = (char)any_below(256);
		/* A prefix, random bytes, and a suffix from anywhere. */
		memcpy(copy, bytes, from);
		memcpy(copy + from, random, n);
		memcpy(copy + from + n, bytes + to, len - to);
		leave_file(test, copy, from + n + len - to);
		adopt(test);
		adopted_samples(test);
		forget_files(test);
	}
}

static void
what_is_settled_is_gone(void **state)
{
	struct test *test = *state;
	struct journal_entry entries[N_SAMPLES];
	struct journal *journal = open_one(test);
	uint64_t ids[N_SAMPLES];
	char bytes[FILE_MAX], path[512];
	samples(entries);
	for (unsigned i = 0; i < N_SAMPLES; i++)
		ids[i] = append(journal, &entries[i]);
	journal_finish(journal, ids[2]);
	journal_finish(journal, ids[0]);
	assert_int_equal(check_samples(journal), 4 + 16);
	journal_close(&journal);

	/* A process adopts it, dies too, and the next one adopts it. */
	for (unsigned round = 0; round < 2; round++) {
		adopt(test);
		assert_int_equal(adopted_samples(test), 4 + 16);
	}
	journal_finish(test->journals[0], ids[1]);
	adopt(test);
	assert_int_equal(adopted_samples(test), 16);
	journal_finish(test->journals[0], ids[3]);
	assert_int_equal(journal_open_entries(test->journals[0]), 0);
	assert_int_equal(file_bytes(test, bytes), 0);

	/* It can be used again, and is removed when it is closed empty. */
	uint64_t again = append(test->journals[0], &entries[0]);
	assert_true(again > ids[3]);
	assert_int_equal(check_samples(test->journals[0]), 2);
	journal_finish(test->journals[0], again);
	drop_found(test);
	only_file(test, path);
	assert_string_equal(path, "");
}

static void
an_entry_too_large_for_the_budget_stays(void **state)
{
	struct test *test = *state;
	struct journal_entry entry = entry_of(JOURNAL_COMPLETE, 1, SPAN("p\n"));
	struct journal *journal = open_one(test);
	struct budget budget;
	struct body bytes;
	atomic_init(&budget.used, 0);
	atomic_init(&budget.limit, 16);
	uint64_t id = append(journal, &entry);
	body_init(&bytes, &budget);
	assert_int_equal(
	    journal_read(journal, id, &bytes, &entry), E_NO_MEMORY);
	atomic_store(&budget.limit, 4096);
	assert_int_equal(journal_read(journal, id, &bytes, &entry), 0);
	body_clear(&bytes);
	assert_int_equal(atomic_load(&budget.used), 0);
	journal_finish(journal, id);
	journal_close(&journal);
}

static unsigned syncs;

/* Takes precedence over libc's. */
int
fdatasync(int file)
{
	syncs++;
	return (int)syscall(SYS_fdatasync, file);
}

static void
what_is_appended_is_on_disk(void **state)
{
	struct test *test = *state;
	struct journal *journal = open_one(test);
	struct journal_entry entry =
	    entry_of(JOURNAL_COMPLETE, 1, SPAN("answer"));
	for (unsigned i = 0; i < 3; i++) {
		syncs = 0;
		append(journal, &entry);
		assert_int_equal(syncs, 1);
	}
	journal_close(&journal);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(every_kind_comes_back_as_it_was),
	    TEST(what_is_appended_is_on_disk),
	    TEST(a_file_cut_at_any_byte_has_what_is_whole),
	    TEST(a_damaged_byte_never_makes_another_entry),
	    TEST(an_entry_that_is_there_twice_is_taken_once),
	    TEST(any_bytes_are_read_without_harm),
	    TEST(what_is_settled_is_gone),
	    TEST(an_entry_too_large_for_the_budget_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
