/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal_try.h"

#include <sys/resource.h>
#include <sys/syscall.h>

/*
 * Whatever was put into the journal comes out of it, whatever happened to the
 * file.
 */

/* Makes a file as another process could have left it. */
static void
leave_file_of(
    const struct test *test, char format, const char *bytes, size_t len)
{
	char path[512];
	snprintf(path, sizeof path, "%s/journal", test->folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/journal/1-0-left.journal%c",
	    test->folder, format);
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(file, bytes, len), len);
	close(file);
}

static void
leave_file(const struct test *test, const char *bytes, size_t len)
{
	leave_file_of(test, '2', bytes, len);
}

/* Empties the folder. */
static void
forget_files(struct test *test)
{
	for (unsigned i = 0; i < test->n_journals; i++)
		for (uint64_t id;
		     journal_next(test->journals[i], NULL, 0, &id, NULL);)
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
	    entry_of(JOURNAL_RELEASE, 1, SPAN("")),
	    entry_of(JOURNAL_RELEASE, 7, SPAN("")),
	    entry_of(JOURNAL_RELEASE, 1, SPAN("")),
	};
	enum { N = sizeof entries / sizeof *entries };
	entries[1].provenance = SPAN("");
	entries[4].release = RELEASE_UNSENT;
	entries[6].release = RELEASE_COUNTED_FORGET;
	entries[7].release = RELEASE_SPARED;
	entries[8].release = RELEASE_SPARED_FORGET;
	entries[5].retention_ms = INT64_MAX;
	struct journal *journal = open_one(test);
	for (unsigned i = 0; i < N; i++)
		append(journal, &entries[i]);
	for (unsigned round = 0; round < 2; round++) {
		struct journal_entry got;
		struct body bytes = {0};
		uint64_t id = 0;
		assert_int_equal(journal_open_entries(journal, NULL), N);
		for (unsigned i = 0; i < N; i++) {
			struct journal_about about;
			assert_true(
			    journal_next(journal, NULL, id, &id, &about));
			assert_memory_equal(&about.key_id,
			    &entries[i].key_id, sizeof about.key_id);
			assert_int_equal(
			    about.answer_bytes, entries[i].answer.len);
			assert_int_equal(
			    journal_read(journal, id, &bytes, &got), 0);
			assert_true(entries_are_equal(&got, &entries[i]));
		}
		assert_false(journal_next(journal, NULL, id, &id, NULL));
		body_clear(&bytes);
		if (round == 1)
			break;
		journal_close(&journal);
		adopt(test);
		assert_int_equal(test->n_journals, 1);
		journal = test->journals[0];
	}
	assert_int_equal(test->damaged + test->errors, 0);
	assert_int_equal(test->lost_bytes, 0);
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
		assert_int_equal(test->lost_bytes, cut - end);
		assert_int_equal(test->damaged + test->errors, 0);
		if (cut > end)
			aside_has(test, bytes, cut);
		else if (want != 0)
			assert_int_equal(file_bytes(test, left), end);
		forget_files(test);
	}
}

/* Damage is stepped over, and takes nothing with it but what it struck. */
static void
a_damaged_byte_takes_its_own_entry_and_no_other(void **state)
{
	struct test *test = *state;
	static const char flips[] = {1, 0x20, (char)0x80, (char)0xff};
	char bytes[FILE_MAX];
	size_t ends[N_SAMPLES + 1];
	size_t len = sample_file(test, bytes, ends);
	for (size_t at = 0; at < len; at++)
		for (unsigned i = 0; i < sizeof flips; i++) {
			unsigned record = 0, want = 2 + 4 + 8 + 16;
			bytes[at] ^= flips[i];
			leave_file(test, bytes, len);
			while (ends[record] <= at)
				record++;
			want &= record < N_SAMPLES ? ~(2U << record) : ~0U;
			/* The last one says that the second is finished. */
			want &= record < N_SAMPLES ? ~4U : ~0U;
			adopt(test);
			assert_int_equal(adopted_samples(test), want);
			assert_int_equal(test->damaged,
			    test->lost_bytes == 0);
			aside_has(test, bytes, len);
			forget_files(test);
			bytes[at] ^= flips[i];
		}
}

/* A whole record, as an upstream might send it if it knew how. */
static size_t
forge(char *ret_bytes)
{
	uint8_t head_bytes[JOURNAL_HEAD_BYTES], fixed[JOURNAL_FIXED_BYTES];
	struct journal_entry entry = entry_of(JOURNAL_COMPLETE, 99, SPAN(""));
	entry.provenance = entry.entity = SPAN("");
	entry.version = entry.shown = SPAN("");
	struct span parts[JOURNAL_PARTS];
	journal_entry_put(&entry, fixed, parts);
	struct journal_head head = journal_entry_put_head(
	    JOURNAL_2, 'C', 1000, parts, 1, head_bytes);
	journal_entry_mask(&head, 0, (char *)fixed, sizeof fixed);
	memcpy(ret_bytes, head_bytes, sizeof head_bytes);
	memcpy(ret_bytes + sizeof head_bytes, fixed, sizeof fixed);
	return sizeof head_bytes + sizeof fixed;
}

static void
what_an_upstream_made_up_is_no_entry_behind_damage(void **state)
{
	struct test *test = *state;
	char forged[512], bytes[FILE_MAX];
	size_t forged_bytes = forge(forged);
	struct journal_entry entries[N_SAMPLES];
	samples(entries);
	struct journal_entry entry = entry_of(
	    JOURNAL_COMPLETE, 5, span_of(forged, forged_bytes));
	struct journal *journal = open_one(test);
	append(journal, &entry);
	append(journal, &entries[0]);
	size_t len = file_bytes(test, bytes);
	journal_close(&journal);
	adopt(test);
	forget_files(test);
	/* As it is, the forged record would be found where it stands alone. */
	leave_file(test, forged, forged_bytes);
	adopt(test);
	assert_int_equal(journal_open_entries(test->journals[0], NULL), 1);
	forget_files(test);
	bytes[20] ^= 1; /* in the head of the first */
	leave_file(test, bytes, len);
	adopt(test);
	assert_int_equal(adopted_samples(test), 2);
	aside_has(test, bytes, len);
	forget_files(test);
}

/* The rest of a record that did not fit must not be taken for one. */
static void
what_did_not_fit_leaves_nothing_behind(void **state)
{
	struct test *test = *state;
	struct journal_entry entries[N_SAMPLES];
	static char large[3000];
	struct rlimit limit;
	uint64_t id;
	samples(entries);
	struct journal *journal = open_one(test);
	struct journal_entry entry =
	    entry_of(JOURNAL_COMPLETE, 5, span_of(large, sizeof large));
	append(journal, &entries[0]);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 2000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	bool kept = journal_append(journal, &entry, &id);
	limit.rlim_cur = RLIM_INFINITY;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_false(kept);
	append(journal, &entries[3]);
	journal_close(&journal);
	adopt(test);
	assert_int_equal(test->damaged, 0);
	assert_int_equal(test->lost_bytes, 0);
	assert_int_equal(adopted_samples(test), 2 + 16);
}

/* --- the format before --- */

static size_t
put_old(char *to, enum journal_kind kind, uint64_t id, struct span answer)
{
	uint8_t head_bytes[JOURNAL_HEAD_BYTES], fixed[JOURNAL_FIXED_BYTES];
	struct journal_entry entry = entry_of(kind, (uint32_t)id, answer);
	struct span parts[JOURNAL_PARTS];
	char letter = journal_entry_put(&entry, fixed, parts);
	const struct span payload[] = {
	    span_of(fixed, 60), entry.provenance, entry.answer};
	char *at = to;
	journal_entry_put_head(JOURNAL_1, letter, id, payload, 3, head_bytes);
	memcpy(at, head_bytes, journal_entry_head_bytes[JOURNAL_1]);
	at += journal_entry_head_bytes[JOURNAL_1];
	for (unsigned i = 0; i < 3; i++) {
		memcpy(at, payload[i].ptr, payload[i].len);
		at += payload[i].len;
	}
	return (size_t)(at - to);
}

static void
is_old(struct journal *journal, uint64_t id, uint32_t attempt,
    struct span answer)
{
	struct journal_entry got;
	struct body bytes = {0};
	assert_int_equal(journal_read(journal, id, &bytes, &got), 0);
	assert_int_equal(got.attempt, attempt);
	assert_true(span_eq(got.answer, answer));
	assert_int_equal(got.retention_ms, 86400000 + attempt);
	assert_int_equal(got.created_ms, 0);
	body_clear(&bytes);
}

static void
a_file_of_the_version_before_is_read_and_marked(void **state)
{
	struct test *test = *state;
	char bytes[FILE_MAX];
	size_t len = put_old(bytes, JOURNAL_COMPLETE, 1, SPAN("p\none"));
	len += put_old(bytes + len, JOURNAL_RELEASE, 2, SPAN(""));
	/* It is for whatever store there is. */
	memset(&test->ours, 7, sizeof test->ours);
	leave_file_of(test, '1', bytes, len);
	adopt(test);
	assert_int_equal(test->damaged + test->errors + test->foreign, 0);
	is_old(test->journals[0], 1, 1, SPAN("p\none"));
	is_old(test->journals[0], 2, 2, SPAN(""));
	journal_finish(test->journals[0], 1);
	adopt(test);
	assert_int_equal(test->lost_bytes, 0);
	assert_int_equal(journal_open_entries(test->journals[0], NULL), 1);
	is_old(test->journals[0], 2, 2, SPAN(""));
}

/* Nobody can know there what is an entry and what an upstream made up. */
static void
behind_damage_of_the_version_before_nothing_is_believed(void **state)
{
	struct test *test = *state;
	char bytes[FILE_MAX];
	size_t first = put_old(bytes, JOURNAL_COMPLETE, 1, SPAN("p\none"));
	size_t second =
	    first + put_old(bytes + first, JOURNAL_RELEASE, 2, SPAN(""));
	size_t len = second +
	    put_old(bytes + second, JOURNAL_COMPLETE, 3, SPAN("p\nthree"));
	bytes[first] ^= 1;
	leave_file_of(test, '1', bytes, len);
	adopt(test);
	assert_int_equal(test->lost_bytes, len - first);
	assert_int_equal(journal_open_entries(test->journals[0], NULL), 1);
	is_old(test->journals[0], 1, 1, SPAN("p\none"));
	aside_has(test, bytes, len);
}

/* --- other stores --- */

static struct origin
origin_of(int id, int place)
{
	struct origin origin;
	memset(origin.id, id, sizeof origin.id);
	memset(origin.place, place, sizeof origin.place);
	return origin;
}

/* An entry for each of these stores, left by a process that is gone. */
static void
leave_entries(struct test *test, const struct origin *origins, unsigned count)
{
	struct journal *journal = open_one(test);
	for (unsigned i = 0; i < count; i++) {
		struct journal_entry entry =
		    entry_of(JOURNAL_COMPLETE, i + 1, SPAN("p\n"));
		entry.origin = origins[i];
		append(journal, &entry);
	}
	journal_close(&journal);
}

static unsigned
own_attempts(const struct test *test)
{
	struct journal_entry got;
	struct body bytes = {0};
	unsigned seen = 0;
	for (uint64_t id = 0; test->n_journals > 0 &&
	     journal_next(test->journals[0], &test->ours, id, &id, NULL);) {
		assert_int_equal(
		    journal_read(test->journals[0], id, &bytes, &got), 0);
		seen |= 1U << got.attempt;
	}
	body_clear(&bytes);
	return seen;
}

static void
an_entry_is_ours_by_its_id_or_its_place(void **state)
{
	struct test *test = *state;
	const struct origin origins[] = {
	    origin_of(1, 1), /* it is ours */
	    origin_of(1, 2), /* it was moved here with its data */
	    origin_of(2, 1), /* it lost its data since */
	    origin_of(2, 2), /* it is another one */
	    origin_of(0, 2), /* another place, and its id was not known */
	    origin_of(0, 0), /* written before there were any */
	    origin_of(0, 1),
	};
	test->ours = origins[0];
	leave_entries(test, origins, 7);
	adopt(test);
	assert_int_equal(own_attempts(test), 2 + 4 + 8 + 64 + 128);
	/* As long as our id is not known, the place has to do. */
	memset(test->ours.id, 0, sizeof test->ours.id);
	assert_int_equal(own_attempts(test), 2 + 8 + 64 + 128);
}

static void
what_is_for_another_store_stays_and_is_nobodys(void **state)
{
	struct test *test = *state;
	const struct origin mine = origin_of(1, 1), others = origin_of(2, 2);
	const struct origin both[] = {mine, others, others};
	struct test other = {.ours = others};
	snprintf(other.folder, sizeof other.folder, "%s", test->folder);
	test->ours = mine;
	leave_entries(test, &others, 1);
	adopt(test);
	assert_int_equal(test->n_journals, 0);
	assert_int_equal(test->foreign, 1);
	assert_int_equal(test->known.foreign, 1);
	adopt(test); /* said once */
	assert_int_equal(test->files, 0);
	assert_int_equal(test->known.foreign, 1);
	adopt(&other); /* nobody has locked it */
	assert_int_equal(own_attempts(&other), 2);
	journal_finish(other.journals[0], 1);
	drop_found(&other);
	adopt(test);
	assert_int_equal(test->known.foreign, 0);

	/* A file with entries of both is one's and then the other's. */
	leave_entries(test, both, 3);
	adopt(test);
	assert_int_equal(own_attempts(test), 2);
	adopt(&other);
	assert_int_equal(other.n_journals, 0);
	journal_finish(test->journals[0], 1);
	assert_int_equal(journal_open_entries(test->journals[0], &mine), 0);
	drop_found(test);
	adopt(&other);
	assert_int_equal(own_attempts(&other), 4 + 8);
	drop_found(&other);
	journal_folder_forget(&other.known);
}

static bool
has_answer(struct journal *journal, const struct origin *ours,
    const struct key_id *key_id)
{
	return journal_read_answer(journal, ours, key_id, NULL, NULL) == 0;
}

static void
an_answer_is_known_by_its_key(void **state)
{
	struct test *test = *state;
	const struct origin mine = origin_of(1, 1), others = origin_of(2, 2);
	struct journal *journal = open_one(test);
	struct journal_entry entry = entry_of(JOURNAL_COMPLETE, 1, SPAN("p\n"));
	struct journal_entry release = entry_of(JOURNAL_RELEASE, 2, SPAN(""));
	entry.origin = release.origin = mine;
	uint64_t id = append(journal, &entry);
	append(journal, &release);
	assert_true(has_answer(journal, &mine, &entry.key_id));
	assert_false(has_answer(journal, &others, &entry.key_id));
	assert_false(has_answer(journal, &mine, &release.key_id));
	journal_finish(journal, id);
	assert_false(has_answer(journal, &mine, &entry.key_id));
	journal_close(&journal);
}

static void
a_file_in_which_an_entry_cannot_be_read_is_kept(void **state)
{
	struct test *test = *state;
	struct journal_entry entries[N_SAMPLES];
	struct journal *journal = open_one(test);
	char bytes[FILE_MAX], path[512];
	samples(entries);
	uint64_t first = append(journal, &entries[0]);
	uint64_t last = append(journal, &entries[3]);
	size_t len = file_bytes(test, bytes);
	journal_forget(journal, first, true);
	journal_mark(journal, first);
	assert_int_equal(check_samples(journal), 16);
	journal_finish(journal, last);
	assert_true(file_bytes(test, bytes) > len);
	only_file(test, path);
	snprintf(test->aside, sizeof test->aside, "%s.damaged-1",
	    strrchr(path, '/') + 1);
	len = file_bytes(test, bytes);
	journal_close(&journal);
	aside_has(test, bytes, len);
	only_file(test, path);
	assert_string_equal(path, "");
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
	assert_int_equal(
	    journal_open_entries(test->journals[0], NULL), N_SAMPLES);
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
	assert_int_equal(journal_open_entries(test->journals[0], NULL), 0);
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
	struct body bytes = {.budget = &budget};
	atomic_init(&budget.used, 0);
	atomic_init(&budget.limit, 16);
	uint64_t id = append(journal, &entry);
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
	    TEST(a_damaged_byte_takes_its_own_entry_and_no_other),
	    TEST(what_an_upstream_made_up_is_no_entry_behind_damage),
	    TEST(what_did_not_fit_leaves_nothing_behind),
	    TEST(a_file_of_the_version_before_is_read_and_marked),
	    TEST(behind_damage_of_the_version_before_nothing_is_believed),
	    TEST(an_entry_is_ours_by_its_id_or_its_place),
	    TEST(what_is_for_another_store_stays_and_is_nobodys),
	    TEST(an_answer_is_known_by_its_key),
	    TEST(a_file_in_which_an_entry_cannot_be_read_is_kept),
	    TEST(an_entry_that_is_there_twice_is_taken_once),
	    TEST(any_bytes_are_read_without_harm),
	    TEST(what_is_settled_is_gone),
	    TEST(an_entry_too_large_for_the_budget_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
