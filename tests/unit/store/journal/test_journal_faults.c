/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal_try.h"

#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* The journal when processes die, disks fill, and folders are in the way. */
#define SECOND_US INT64_C(1000000)

/* True where an entry could be written now. */
static bool
is_writable(struct journal *journal, int64_t now_us)
{
	enum journal_health health = journal_check(journal, now_us);
	return health == JOURNAL_TO_BE_TRIED ? journal_try(journal)
					     : health == JOURNAL_WELL;
}

/* --- processes --- */

/* Runs in a child until it is killed; each step writes a byte to *ret_pipe. */
static pid_t
spawn(void (*run)(struct test *test, int pipe), struct test *test,
    int *ret_pipe)
{
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		alarm(60);
		close(ends[0]);
		run(test, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	*ret_pipe = ends[0];
	return pid;
}

static void
end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
append_for_ever(struct test *test, int pipe)
{
	struct journal *journal = open_one(test);
	for (uint32_t i = 1;; i++) {
		struct journal_entry entry =
		    entry_of(JOURNAL_COMPLETE, i, SPAN("p\nanswer"));
		append(journal, &entry);
		if (write(pipe, "+", 1) != 1)
			_exit(1);
	}
}

static void
what_was_appended_outlives_a_kill(void **state)
{
	struct test *test = *state;
	unsigned told = 0;
	char byte;
	int pipe;
	pid_t pid = spawn(append_for_ever, test, &pipe);
	while (told < 20 && read(pipe, &byte, 1) == 1)
		told++;
	adopt(test);
	assert_int_equal(test->files, 0); /* its process lives */
	end(pid);
	while (read(pipe, &byte, 1) == 1)
		told++;
	close(pipe);
	assert_true(told >= 20);
	adopt(test);
	assert_int_equal(test->n_journals, 1);
	assert_in_range(
	    journal_open_entries(test->journals[0], NULL), told, told + 1);
	struct body bytes = {0};
	struct journal_entry got;
	uint64_t id = 0;
	for (uint32_t i = 1; i <= told; i++) {
		assert_true(journal_next(
		    test->journals[0], NULL, id, &id, NULL));
		assert_int_equal(
		    journal_read(test->journals[0], id, &bytes, &got), 0);
		assert_int_equal(got.attempt, i);
	}
	body_clear(&bytes);
}

static void
adopt_and_settle_one(struct test *test, int pipe)
{
	adopt(test);
	journal_finish(test->journals[0], 1);
	if (write(pipe, "+", 1) == 1)
		pause();
}

static void
a_process_killed_while_it_delivers_loses_nothing(void **state)
{
	struct test *test = *state;
	struct journal_entry entries[N_SAMPLES];
	struct journal *journal = open_one(test);
	char byte;
	int pipe;
	samples(entries);
	for (unsigned i = 0; i < N_SAMPLES; i++)
		append(journal, &entries[i]);
	journal_close(&journal);
	pid_t pid = spawn(adopt_and_settle_one, test, &pipe);
	assert_int_equal(read(pipe, &byte, 1), 1);
	adopt(test);
	assert_int_equal(test->files, 0);
	end(pid);
	close(pipe);
	adopt(test);
	assert_int_equal(adopted_samples(test), 4 + 8 + 16);
}

enum { RACERS = 4, ROUNDS = 40 };

static void
tell_found(int pipe, const struct journal_found *found)
{
	struct journal *journal = found->journal;
	struct journal_entry entry;
	struct body bytes = {0};
	if (found->error || found->damaged || found->lost_bytes)
		_exit(1);
	for (uint64_t id;
	     journal && journal_next(journal, NULL, 0, &id, NULL);) {
		if (journal_read(journal, id, &bytes, &entry) != 0 ||
		    write(pipe, &entry.attempt, sizeof entry.attempt) !=
			sizeof entry.attempt)
			_exit(1);
		journal_finish(journal, id);
	}
	body_clear(&bytes);
	journal_close(&journal);
}

/* Opens, leaves and adopts by turns; entries say who made them, and when. */
static void
race(struct test *test, int pipe)
{
	struct journal_found *found;
	struct list list;
	char *message = NULL;
	list_init(&list);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct journal *journal = open_one(test);
		struct journal_entry entry = entry_of(JOURNAL_UNKNOWN,
		    test->racer * ROUNDS + i, SPAN(""));
		append(journal, &entry);
		journal_close(&journal);
		if (!journal_folder_adopt(&test->known, test->folder,
			&test->ours, true, &list, &message))
			_exit(1);
		LIST_EACH(found, &list, link) {
			tell_found(pipe, found);
			journal_folder_found_free(&found);
		}
	}
}

static void
processes_that_adopt_at_once_lose_nothing(void **state)
{
	struct test *test = *state;
	unsigned delivered[RACERS * ROUNDS] = {0};
	int pipes[RACERS], status;
	pid_t pids[RACERS];
	char path[512];
	for (unsigned i = 0; i < RACERS; i++) {
		test->racer = i;
		pids[i] = spawn(race, test, &pipes[i]);
	}
	for (unsigned i = 0; i < RACERS; i++) {
		uint32_t attempt;
		while (read(pipes[i], &attempt, sizeof attempt) ==
		    sizeof attempt) {
			assert_true(attempt < RACERS * ROUNDS);
			delivered[attempt]++;
		}
		close(pipes[i]);
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	/* Each racer adopts after leaving its last one: nothing remains. */
	only_file(test, path);
	assert_string_equal(path, "");
	for (unsigned i = 0; i < RACERS * ROUNDS; i++)
		assert_int_equal(delivered[i], 1);
}

/* --- the disk --- */

static void
limit_files(rlim_t bytes)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
an_entry_that_does_not_fit_leaves_the_file_as_it_was(void **state)
{
	struct test *test = *state;
	struct journal_entry entries[N_SAMPLES];
	struct journal *journal = open_one(test);
	char before[FILE_MAX], after[FILE_MAX];
	int64_t now_us = SECOND_US;
	uint64_t id = 0;
	samples(entries);
	append(journal, &entries[0]);
	assert_true(is_writable(journal, now_us));
	assert_string_equal(journal_message(journal), "");
	size_t len = file_bytes(test, before);
	/* From no room at all to one byte too few. */
	for (size_t room = 0; room < len; room += 7) {
		limit_files(len + room);
		bool kept = journal_append(journal, &entries[0], &id);
		assert_int_equal(file_bytes(test, after), len);
		now_us += SECOND_US;
		bool writable = is_writable(journal, now_us - 1);
		bool later = is_writable(journal, now_us);
		limit_files(RLIM_INFINITY);
		assert_false(kept);
		assert_int_equal(id, 0);
		assert_false(writable);
		/* journal_try() needs room for the head of a record. */
		assert_int_equal(later, room >= JOURNAL_HEAD_BYTES);
		assert_int_equal(file_bytes(test, after), len);
		assert_memory_equal(before, after, len);
		now_us += SECOND_US;
		assert_true(is_writable(journal, now_us));
	}
	append(journal, &entries[3]);
	assert_int_equal(check_samples(journal), 2 + 16);
	journal_close(&journal);
	adopt(test);
	assert_int_equal(adopted_samples(test), 2 + 16);
	assert_int_equal(test->damaged + test->lost_bytes, 0);
}

static void
a_settled_mark_that_does_not_fit_is_only_delivered_again(void **state)
{
	struct test *test = *state;
	struct journal_entry entries[N_SAMPLES];
	struct journal *journal = open_one(test);
	uint64_t ids[N_SAMPLES];
	char bytes[FILE_MAX];
	samples(entries);
	for (unsigned i = 0; i < N_SAMPLES; i++)
		ids[i] = append(journal, &entries[i]);
	limit_files(file_bytes(test, bytes) + 10);
	journal_finish(journal, ids[0]);
	limit_files(RLIM_INFINITY);
	assert_int_equal(check_samples(journal), 4 + 8 + 16);
	journal_finish(journal, ids[1]);
	journal_close(&journal);
	adopt(test);
	assert_int_equal(adopted_samples(test), 2 + 8 + 16);
	assert_int_equal(test->lost_bytes, 0);
}

/* 0: as it should be; 77: no file system can be made here. */
static int
try_small_disk(struct test *test)
{
	char path[512];
	snprintf(path, sizeof path, "%s/disk", test->folder);
	if (mkdir(path, 0700) != 0 || unshare(CLONE_NEWNS) != 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", path, "tmpfs", 0, "mode=0700,size=512k") != 0)
		return 77;
	struct journal *journal;
	char *message;
	static char large[2 * 1024 * 1024];
	struct journal_entry small =
	    entry_of(JOURNAL_COMPLETE, 1, SPAN("p\n"));
	struct journal_entry too_large = entry_of(
	    JOURNAL_COMPLETE, 2, span_of(large, sizeof large));
	uint64_t id;
	if (!journal_folder_open(path, 0, &journal, &message))
		return 1;
	if (is_writable(journal, 0) ||
	    strstr(journal_message(journal), strerror(ENOSPC)) == NULL)
		return 2;
	if (!journal_append(journal, &small, &id) ||
	    journal_append(journal, &too_large, &id) ||
	    journal_open_entries(journal, NULL) != 1)
		return 3;
	if (mount("tmpfs", path, "tmpfs", MS_REMOUNT, "mode=0700,size=8m") != 0)
		return 77;
	if (is_writable(journal, SECOND_US - 1))
		return 4;
	if (!is_writable(journal, SECOND_US) ||
	    !journal_append(journal, &too_large, &id))
		return 5;
	return 0;
}

static void
a_disk_without_reserve_is_not_writable(void **state)
{
	int status;
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(try_small_disk(*state));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		/* cmocka 1.1.5 prints "not ok" for a skipped test. */
		print_message("# a tmpfs cannot be mounted here\n");
		return;
	}
	assert_int_equal(status, 0);
}

/* --- the folder --- */

static void
a_removed_file_is_not_written_to(void **state)
{
	struct test *test = *state;
	struct journal_entry entry = entry_of(JOURNAL_RELEASE, 1, SPAN(""));
	struct journal *journal = open_one(test);
	char path[512];
	uint64_t id;
	assert_true(is_writable(journal, 0));
	only_file(test, path);
	assert_int_equal(unlink(path), 0);
	assert_true(is_writable(journal, SECOND_US - 1));
	assert_false(is_writable(journal, SECOND_US));
	assert_false(journal_append(journal, &entry, &id));
	assert_non_null(strstr(journal_message(journal), "removed"));
	journal_close(&journal);
}

static void
files_and_folder_are_for_their_owner_alone(void **state)
{
	struct test *test = *state;
	struct stat st;
	char path[512];
	mode_t mask = umask(0);
	struct journal *journal = open_one(test);
	umask(mask);
	only_file(test, path);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	*strrchr(path, '/') = '\0';
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	struct journal *other = open_one(test);
	journal_close(&journal);
	journal_close(&other);
	journal_close(&other);
}

static void
a_state_dir_that_cannot_be_written_is_told_in_words(void **state)
{
	struct test *test = *state;
	static const char *const places[] = {"/file", "/file/below", "/a/b"};
	char path[512];
	snprintf(path, sizeof path, "%s/file", test->folder);
	close(open(path, O_WRONLY | O_CREAT, 0600));
	for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
		struct journal *journal = NULL;
		struct list list;
		char *message = NULL;
		list_init(&list);
		snprintf(path, sizeof path, "%s%s", test->folder, places[i]);
		assert_false(journal_folder_open(path, 0, &journal, &message));
		assert_non_null(strstr(message, path));
		assert_null(journal);
		free(message);
		assert_false(journal_folder_adopt(&test->known, path,
		    &test->ours, true, &list, &message));
		assert_non_null(strstr(message, path));
		assert_true(list_empty(&list));
		free(message);
	}
}

static void
only_files_of_this_format_are_adopted(void **state)
{
	struct test *test = *state;
	static const char *const names[] = {"1-0-a.journal3", "note", "l"};
	struct journal_entry entry = entry_of(JOURNAL_RELEASE, 1, SPAN(""));
	char path[512], target[512];
	struct stat st;
	struct journal *journal = open_one(test);
	append(journal, &entry);
	journal_close(&journal);
	for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/journal/%s", test->folder,
		    names[i]);
		close(open(path, O_WRONLY | O_CREAT, 0600));
	}
	snprintf(target, sizeof target, "%s/journal/x.journal1", test->folder);
	assert_int_equal(symlink(path, target), 0);
	adopt(test);
	assert_int_equal(test->n_journals, 1);
	assert_int_equal(test->files, 2);
	assert_int_equal(test->errors, 1); /* a link is not followed */
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(lstat(target, &st), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(what_was_appended_outlives_a_kill),
	    TEST(a_process_killed_while_it_delivers_loses_nothing),
	    TEST(processes_that_adopt_at_once_lose_nothing),
	    TEST(an_entry_that_does_not_fit_leaves_the_file_as_it_was),
	    TEST(a_settled_mark_that_does_not_fit_is_only_delivered_again),
	    TEST(a_disk_without_reserve_is_not_writable),
	    TEST(a_removed_file_is_not_written_to),
	    TEST(files_and_folder_are_for_their_owner_alone),
	    TEST(a_state_dir_that_cannot_be_written_is_told_in_words),
	    TEST(only_files_of_this_format_are_adopted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
