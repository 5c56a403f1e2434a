/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "store/journal/journal_awaited.h"

static const struct origin here = {{0}, {1}}; /* its id is not known yet */
static const struct origin known_here = {{7}, {1}};
static const struct origin moved_here = {{7}, {2}};
static const struct origin elsewhere = {{8}, {2}};

static struct journal_about
answer(unsigned char key, const struct origin *origin)
{
	return (struct journal_about){.kind = JOURNAL_COMPLETE,
	    .key_id = {{1, key}},
	    .origin = *origin};
}

static bool
has(struct journal_awaited *awaited, bool settled, unsigned char key)
{
	struct key_id key_id = {{1, key}};
	return journal_awaited_has(awaited, settled ? &known_here : &here,
	    settled, &key_id, NULL);
}

static void
each_is_forgotten_as_often_as_it_came(void **state)
{
	struct journal_awaited *awaited = journal_awaited_new();
	struct journal_about early = answer(1, &here);
	struct journal_about late = answer(1, &known_here);
	(void)state;
	assert_false(has(awaited, true, 1));
	journal_awaited_add(awaited, &early, 0);
	journal_awaited_add(awaited, &late, 0);
	assert_true(has(awaited, true, 1));
	assert_false(has(awaited, true, 2));
	journal_awaited_drop(awaited, &late);
	assert_true(has(awaited, true, 1));
	journal_awaited_drop(awaited, &late);
	assert_false(has(awaited, true, 1));
	journal_awaited_free(&awaited);
}

static void
a_doubt_waits_and_a_release_does_not(void **state)
{
	struct journal_awaited *awaited = journal_awaited_new();
	struct journal_about about = answer(1, &here);
	(void)state;
	about.kind = JOURNAL_RELEASE;
	journal_awaited_add(awaited, &about, 0);
	assert_false(has(awaited, true, 1));
	about.kind = JOURNAL_UNKNOWN;
	journal_awaited_add(awaited, &about, 0);
	journal_awaited_drop(awaited, &(struct journal_about){
	    .kind = JOURNAL_RELEASE, .key_id = about.key_id, .origin = here});
	assert_true(has(awaited, true, 1));
	journal_awaited_free(&awaited);
}

static void
an_entity_waits_for_its_version(void **state)
{
	static const uint8_t entity[DIGEST_BYTES] = {9};
	struct journal_awaited *awaited = journal_awaited_new();
	struct journal_about about = answer(1, &here);
	struct key_id other = {{1, 2}};
	(void)state;
	about.versioned = true;
	memcpy(about.entity, entity, sizeof entity);
	journal_awaited_add(awaited, &about, 0);
	assert_true(
	    journal_awaited_has(awaited, &here, true, &other, entity));
	assert_false(
	    journal_awaited_has(awaited, &here, true, &other, NULL));
	journal_awaited_drop(awaited, &about);
	assert_false(
	    journal_awaited_has(awaited, &here, true, &other, entity));
	journal_awaited_free(&awaited);
}

static void
what_may_be_ours_is_until_our_id_is_known(void **state)
{
	struct journal_awaited *awaited = journal_awaited_new();
	struct journal_about moved = answer(1, &moved_here);
	struct journal_about foreign = answer(2, &elsewhere);
	(void)state;
	journal_awaited_add(awaited, &moved, 1);
	journal_awaited_add(awaited, &foreign, 1);
	assert_true(has(awaited, false, 1));
	assert_true(has(awaited, false, 2));
	assert_true(has(awaited, true, 1));
	assert_false(has(awaited, true, 2));
	journal_awaited_free(&awaited);
}

static void
a_look_replaces_what_the_one_before_suspected(void **state)
{
	struct journal_awaited *awaited = journal_awaited_new();
	struct journal_about gone = answer(1, &moved_here);
	struct journal_about still = answer(2, &moved_here);
	struct journal_about taken = answer(3, &moved_here);
	(void)state;
	journal_awaited_add(awaited, &gone, 1);
	journal_awaited_add(awaited, &still, 1);
	journal_awaited_add(awaited, &taken, 1);
	journal_awaited_add(awaited, &still, 2);
	journal_awaited_add(awaited, &taken, 0);
	journal_awaited_acquit(awaited, 2);
	assert_false(has(awaited, true, 1));
	assert_true(has(awaited, true, 2));
	assert_true(has(awaited, true, 3));
	journal_awaited_drop(awaited, &taken);
	assert_false(has(awaited, true, 3));
	journal_awaited_free(&awaited);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_is_forgotten_as_often_as_it_came),
	    cmocka_unit_test(a_doubt_waits_and_a_release_does_not),
	    cmocka_unit_test(an_entity_waits_for_its_version),
	    cmocka_unit_test(what_may_be_ours_is_until_our_id_is_known),
	    cmocka_unit_test(a_look_replaces_what_the_one_before_suspected),
	};
	return cmocka_run_group_tests_name(
	    "journal_awaited", tests, NULL, NULL);
}
