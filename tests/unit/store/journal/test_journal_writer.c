/* SPDX-License-Identifier: BSD-2-Clause */
#include "journal_try.h"

#include <semaphore.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "store/journal/journal_writer.h"

/* Writing on another thread: one batch after the other, one sync for each. */
enum { OPS_MAX = 8 };

struct bench {
	struct test *test;
	struct loop *loop;
	struct journal *journal;
	struct journal_writer writer;
	struct journal_op ops[OPS_MAX];
	unsigned waits;   /* operations under way */
	unsigned batches, failures;
	bool went_on; /* the loop, while a batch was under way */
	struct timer timer;
};

/* --- the disk --- */

static atomic_uint syncs;
static atomic_bool slow; /* each sync waits until the loop has gone on */
static sem_t begun, go_on;

/* Takes precedence over libc's. */
int
fdatasync(int file)
{
	atomic_fetch_add(&syncs, 1);
	if (atomic_load(&slow)) {
		sem_post(&begun);
		sem_wait(&go_on);
	}
	return (int)syscall(SYS_fdatasync, file);
}

/* --- the loop --- */

static void
on_written(void *arg, bool failed)
{
	struct bench *b = arg;
	b->batches++;
	b->failures += failed;
}

static void
on_op(void *arg)
{
	struct bench *b = arg;
	if (--b->waits == 0)
		loop_stop(b->loop);
}

static void
on_timer(void *arg)
{
	struct bench *b = arg;
	if (sem_trywait(&begun) != 0) {
		timer_set(&b->timer, 1);
		return;
	}
	b->went_on = true;
	sem_post(&go_on);
}

static int
set_up_bench(void **state)
{
	struct bench *b = mem_zero(sizeof *b);
	set_up((void **)&b->test);
	b->loop = loop_new();
	b->journal = open_one(b->test);
	journal_writer_init(&b->writer, b->loop, b->journal, on_written, b);
	for (unsigned i = 0; i < OPS_MAX; i++)
		op_init(&b->ops[i].op, b->loop, on_op, b);
	timer_init(&b->timer, b->loop, on_timer, b);
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	atomic_store(&syncs, 0);
	atomic_store(&slow, false);
	*state = b;
	return 0;
}

static int
tear_down_bench(void **state)
{
	struct bench *b = *state;
	timer_clear(&b->timer);
	journal_writer_end(&b->writer);
	journal_close(&b->journal);
	loop_free(&b->loop);
	tear_down((void **)&b->test);
	free(b);
	return 0;
}

/* Starts to write that sample. */
static void
begin(struct bench *b, unsigned op, unsigned sample)
{
	struct journal_entry entries[N_SAMPLES];
	samples(entries);
	b->waits++;
	journal_writer_append(&b->writer, &b->ops[op], &entries[sample]);
}

/* --- tests --- */

static void
what_comes_in_one_turn_shares_a_sync(void **state)
{
	struct bench *b = *state;
	for (unsigned i = 0; i < N_SAMPLES; i++)
		begin(b, i, i);
	loop_run(b->loop);
	assert_int_equal(atomic_load(&syncs), 1);
	assert_int_equal(b->batches, 1);
	assert_int_equal(b->failures, 0);
	for (unsigned i = 0; i < N_SAMPLES; i++)
		assert_int_equal(b->ops[i].op.error, 0);
	assert_int_equal(check_samples(b->journal), 2 + 4 + 8 + 16);
}

static void
the_loop_goes_on_while_the_disk_is_slow(void **state)
{
	struct bench *b = *state;
	atomic_store(&slow, true);
	begin(b, 0, 0);
	timer_set(&b->timer, 1);
	loop_run(b->loop);
	assert_true(b->went_on);
	assert_int_equal(b->ops[0].op.error, 0);
	assert_int_equal(check_samples(b->journal), 2);
}

static void
start_another(void *arg)
{
	struct bench *b = arg;
	/* The first is being written, and nobody can have it yet. */
	uint64_t id;
	assert_int_equal(journal_open_entries(b->journal, NULL), 0);
	assert_false(journal_next(b->journal, NULL, 0, &id, NULL));
	begin(b, 1, 1);
	begin(b, 2, 2);
	atomic_store(&slow, false);
	sem_post(&go_on);
}

static void
what_comes_meanwhile_is_the_next_batch(void **state)
{
	struct bench *b = *state;
	struct timer timer;
	atomic_store(&slow, true);
	timer_init(&timer, b->loop, start_another, b);
	begin(b, 0, 0);
	timer_set(&timer, 1);
	loop_run(b->loop);
	assert_int_equal(atomic_load(&syncs), 2);
	assert_int_equal(b->batches, 2);
	assert_int_equal(check_samples(b->journal), 2 + 4 + 8);
}

static void
an_entry_that_does_not_fit_fails_alone(void **state)
{
	struct bench *b = *state;
	static char large[20000];
	struct rlimit limit;
	struct journal_entry too_large =
	    entry_of(JOURNAL_COMPLETE, 4, span_of(large, sizeof large));
	begin(b, 0, 0);
	b->waits++;
	journal_writer_append(&b->writer, &b->ops[1], &too_large);
	begin(b, 2, 2);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = sizeof large;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	loop_run(b->loop);
	limit.rlim_cur = RLIM_INFINITY;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(b->ops[0].op.error, 0);
	assert_int_equal(b->ops[1].op.error, E_JOURNAL);
	assert_int_equal(b->ops[2].op.error, 0);
	assert_int_equal(b->failures, 1);
	assert_int_equal(check_samples(b->journal), 2 + 8);
	assert_false(journal_writer_is_writable(&b->writer, 0));
}

static void
a_file_that_was_removed_takes_nothing(void **state)
{
	struct bench *b = *state;
	char path[512];
	only_file(b->test, path);
	assert_int_equal(unlink(path), 0);
	begin(b, 0, 0);
	begin(b, 1, 1);
	loop_run(b->loop);
	assert_int_equal(b->ops[0].op.error, E_JOURNAL);
	assert_int_equal(b->ops[1].op.error, E_JOURNAL);
	assert_int_equal(journal_open_entries(b->journal, NULL), 0);
}

static void
what_is_not_writable_is_tried_again(void **state)
{
	struct bench *b = *state;
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	begin(b, 0, 0);
	loop_run(b->loop);
	limit.rlim_cur = RLIM_INFINITY;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(b->ops[0].op.error, E_JOURNAL);
	assert_false(journal_writer_is_writable(&b->writer, 1));
	/* Whatever it was asked last is over when something is written. */
	begin(b, 1, 1);
	loop_run(b->loop);
	assert_int_equal(b->ops[1].op.error, 0);
	assert_true(journal_writer_is_writable(&b->writer, 2));
}

static void
what_nobody_waits_for_is_written_all_the_same(void **state)
{
	struct bench *b = *state;
	begin(b, 0, 0);
	begin(b, 1, 1);
	op_cancel(&b->ops[0].op);
	b->waits--;
	loop_run(b->loop);
	assert_int_equal(check_samples(b->journal), 2 + 4);
}

static void
what_was_given_last_is_on_disk_at_the_end(void **state)
{
	struct bench *b = *state;
	uint64_t id;
	begin(b, 0, 0);
	begin(b, 1, 1);
	loop_run(b->loop);
	begin(b, 2, 2);
	begin(b, 3, 3);
	assert_true(journal_next(b->journal, NULL, 0, &id, NULL));
	journal_writer_finish(&b->writer, b->journal, id, false);
	assert_int_equal(journal_open_entries(b->journal, NULL), 1);
	op_cancel(&b->ops[2].op);
	op_cancel(&b->ops[3].op);
	journal_writer_end(&b->writer);
	journal_close(&b->journal);
	adopt(b->test);
	assert_int_equal(adopted_samples(b->test), 4 + 8 + 16);
	drop_found(b->test);
	b->journal = open_one(b->test);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define BENCH(name) \
	cmocka_unit_test_setup_teardown(name, set_up_bench, tear_down_bench)
	    BENCH(what_comes_in_one_turn_shares_a_sync),
	    BENCH(the_loop_goes_on_while_the_disk_is_slow),
	    BENCH(what_comes_meanwhile_is_the_next_batch),
	    BENCH(an_entry_that_does_not_fit_fails_alone),
	    BENCH(a_file_that_was_removed_takes_nothing),
	    BENCH(what_is_not_writable_is_tried_again),
	    BENCH(what_nobody_waits_for_is_written_all_the_same),
	    BENCH(what_was_given_last_is_on_disk_at_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
