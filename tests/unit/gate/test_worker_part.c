/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container.h"
#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "gate/worker.h"
#include "http/front/places.h"
#include "lib/folder.h"
#include "lib/redis.h"
#include "store/journal/journal_awaited.h"
#include "store/journal/journal_folder.h"

/* What a worker tells its parts, and that it waits for them. */

enum { BUSY_MS = 300 };

/* A part that notes what it is told, and is busy for a while once it drains. */
struct noting {
	struct worker_part part; /* first: the worker knows no more of it */
	struct worker *worker;
	struct timer timer;
	bool busy;
};

static char notes[64];   /* a letter for each call; is_idle has none */
static bool stays_busy;  /* until drain_timeout is over … */
static bool never_ends;  /* … and even then */
static const struct conf *reloaded;

static struct noting *
noting_of(struct worker_part *part)
{
	return CONTAINER_OF(part, struct noting, part);
}

static void
note(char letter)
{
	size_t len = strlen(notes);
	assert_true(len + 1 < sizeof notes);
	notes[len] = letter;
}

static void
on_rest(void *arg)
{
	struct noting *noting = arg;
	noting->busy = false;
	note('i');
}

static const struct worker_part_kind noting_kind;

static struct worker_part *
begin(struct worker *worker)
{
	struct noting *noting = mem_zero(sizeof *noting);
	noting->part.kind = &noting_kind;
	noting->worker = worker;
	timer_init(&noting->timer, worker->loop, on_rest, noting);
	assert_non_null(worker->store);
	assert_non_null(worker->generation);
	note('b');
	return &noting->part;
}

static struct worker_part *
begin_none(struct worker *worker)
{
	(void)worker;
	note('-');
	return NULL;
}

static void
reload(struct worker_part *part, struct generation *generation)
{
	assert_ptr_equal(generation, noting_of(part)->worker->generation);
	reloaded = generation->conf;
	note('r');
}

static void
drain(struct worker_part *part)
{
	struct noting *noting = noting_of(part);
	noting->busy = true;
	if (!stays_busy)
		timer_set(&noting->timer, BUSY_MS);
	note('d');
}

static void
over(struct worker_part *part)
{
	assert_true(noting_of(part)->worker->over);
	note('o');
	if (!never_ends)
		timer_set(&noting_of(part)->timer, 0);
}

static bool
is_idle(const struct worker_part *part)
{
	return !noting_of((struct worker_part *)(uintptr_t)part)->busy;
}

static void
end(struct worker_part *part)
{
	timer_clear(&noting_of(part)->timer);
	note('e');
}

static void
free_part(struct worker_part *part)
{
	free(noting_of(part));
}

static const struct worker_part_kind noting_kind = {
    begin, reload, drain, over, is_idle, end, free_part};
static const struct worker_part_kind none_kind = {.begin = begin_none};

/* --- a worker --- */

struct stage {
	char folder[FOLDER_MAX];
	struct redis *redis;
	const struct conf *conf;
	struct budget budget;
	struct places places;
	struct store_health *health;
	struct journal_awaited *awaited;
	struct worker *worker;
};

static const struct conf *
make_conf(const struct stage *stage)
{
	struct complaints complaints = {NULL, 0};
	char *text = mem_printf("{\"listen\": [\"127.0.0.1:0\"], "
	    "\"workers\": 1, \"state_dir\": \"%s\", "
	    "\"drain_timeout\": \"1s\", "
	    "\"store\": {\"redis\": \"unix:%s\"}, "
	    "\"upstreams\": {\"u\": \"http://127.0.0.1:1\"}, "
	    "\"routes\": [{\"path\": \"/*\", \"upstream\": \"u\"}]}",
	    stage->folder, stage->redis->socket);
	const struct conf *conf =
	    conf_load_text("test", span_str(text), false, &complaints);
	if (conf == NULL)
		fail_msg("%s", complaints.list[0].message);
	complaints_free(&complaints);
	free(text);
	return conf;
}

static void
begin_stage(
    struct stage *stage, const struct worker_part_kind *const *kinds)
{
	struct journal *journal;
	char *message = NULL;
	memset(notes, 0, sizeof notes);
	stays_busy = never_ends = false;
	*stage = (struct stage){.places.most = 16};
	folder_make("part", stage->folder);
	stage->redis = redis_start(NULL);
	stage->conf = make_conf(stage);
	atomic_init(&stage->budget.used, 0);
	atomic_init(&stage->budget.limit, 1 << 20);
	stage->health = store_health_new();
	stage->awaited = journal_awaited_new();
	assert_true(journal_folder_open(stage->folder, 0, &journal, &message));
	stage->worker = worker_new(stage->conf, &stage->budget,
	    &stage->places, stage->health, stage->awaited, 0, NULL, 0, journal,
	    kinds);
}

static void
end_stage(struct stage *stage)
{
	worker_free(&stage->worker);
	store_health_free(&stage->health);
	journal_awaited_free(&stage->awaited);
	conf_unref(&stage->conf);
	redis_stop(&stage->redis);
	folder_remove(stage->folder);
}

static const struct worker_part_kind *const one[] = {&noting_kind, NULL};

/* --- tests --- */

static void
a_drain_waits_until_its_parts_are_idle(void **state)
{
	struct stage stage;
	(void)state;
	begin_stage(&stage, one);
	worker_post_drain(stage.worker);
	/* A second one changes nothing. */
	worker_post_drain(stage.worker);
	worker_run(stage.worker);
	assert_string_equal(notes, "bdie");
	end_stage(&stage);
}

static void
a_part_that_is_late_is_told_that_time_is_over(void **state)
{
	struct stage stage;
	(void)state;
	begin_stage(&stage, one);
	stays_busy = true;
	worker_post_drain(stage.worker);
	worker_run(stage.worker);
	assert_string_equal(notes, "bdoie");
	end_stage(&stage);
}

static void
a_part_that_never_ends_is_freed_all_the_same(void **state)
{
	struct stage stage;
	(void)state;
	begin_stage(&stage, one);
	stays_busy = never_ends = true;
	worker_post_drain(stage.worker);
	worker_run(stage.worker);
	assert_string_equal(notes, "bdoe");
	end_stage(&stage);
}

static void
on_adopted(void *arg)
{
	struct stage *stage = arg;
	assert_string_equal(notes, "br");
	worker_post_drain(stage->worker);
}

static void
a_reload_reaches_the_parts_before_it_is_adopted(void **state)
{
	struct stage stage;
	(void)state;
	begin_stage(&stage, one);
	const struct conf *next = make_conf(&stage);
	worker_post_errand(
	    stage.worker, next, stage.worker->loop, on_adopted, &stage);
	worker_run(stage.worker);
	assert_ptr_equal(reloaded, next);
	conf_unref(&next);
	assert_string_equal(notes, "brdie");
	end_stage(&stage);
}

static void
a_worker_may_have_several_parts_or_none(void **state)
{
	static const struct worker_part_kind *const kinds[] = {
	    &noting_kind, &none_kind, &noting_kind, NULL};
	struct stage stage;
	(void)state;
	begin_stage(&stage, kinds);
	worker_post_drain(stage.worker);
	worker_run(stage.worker);
	assert_string_equal(notes, "b-bddiiee");
	end_stage(&stage);

	begin_stage(&stage, NULL);
	worker_post_drain(stage.worker);
	worker_run(stage.worker);
	assert_string_equal(notes, "");
	end_stage(&stage);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_drain_waits_until_its_parts_are_idle),
	    cmocka_unit_test(a_part_that_is_late_is_told_that_time_is_over),
	    cmocka_unit_test(a_part_that_never_ends_is_freed_all_the_same),
	    cmocka_unit_test(a_reload_reaches_the_parts_before_it_is_adopted),
	    cmocka_unit_test(a_worker_may_have_several_parts_or_none),
	};
	return cmocka_run_group_tests_name("worker parts", tests, NULL, NULL);
}
