/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gate/key/scope.h"
#include "store/record/key_id.h"

static char header[] = "Authorization", other[] = "X-Tenant", basic[] = "basic",
	    account[] = "account";

static struct conf_scope kinds[] = {
	{.header = header},
	{.header = other},
	/* Names of headers that are words of other kinds. */
	{.header = basic},
	{.header = account},
	{.kind = SCOPE_BASIC, .basic = true},
	{.kind = SCOPE_PATH, .path = header},
	{.kind = SCOPE_PATH, .path = basic},
	{.kind = SCOPE_PATH, .path = account},
	{.kind = SCOPE_CERTIFICATE, .certificate = CERTIFICATE_SUBJECT},
	{.kind = SCOPE_CERTIFICATE, .certificate = CERTIFICATE_FINGERPRINT},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void
the_same_value_of_two_kinds_is_two_tenants(void **state)
{
	static char secret[] = "";
	const struct conf conf = {.store.secret = secret};
	struct key_id ids[KINDS];
	const struct span value = SPAN("a");
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		const struct conf_scopes scopes = {&kinds[i], 1};
		key_id_make(
		    &conf, SPAN("n"), &scopes, &value, SPAN("k"), &ids[i]);
		for (size_t j = 0; j < i; j++)
			assert_memory_not_equal(&ids[i], &ids[j], 16);
	}
}

static void
each_kind_has_a_name_of_its_own_for_people(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++)
		for (size_t j = 0; j < KINDS; j++)
			assert_int_equal(
			    scopes_same(&kinds[i], &kinds[j]), i == j);
}

static enum scope_verdict
find_user(struct arena *arena, const char *credentials, struct span *ret_user)
{
	static struct conf_scope scope = {.kind = SCOPE_BASIC, .basic = true};
	const struct conf_idempotency policy = {.scope = {&scope, 1}};
	struct field field = {SPAN("authorization"), span_str(credentials)};
	const struct fields fields = {&field, 1};
	const struct scope_request request = {
	    .arena = arena, .fields = &fields};
	return scope_find(&policy, &request, ret_user);
}

static void
the_user_of_basic_is_what_stands_before_the_first_colon(void **state)
{
	static const struct {
		const char *credentials, *user;
	} good[] = {
	    {"Basic YTpi", "a"},
	    {"basic YTpi", "a"},
	    {"BASIC   YTpi", "a"},
	    {"Basic YTpiOmM=", "a"},
	    {"Basic YTo=", "a"},
	    {"Basic YTpiYg==", "a"},
	};
	static const char *const none[] = {
	    "", "Bearer YTpi", "Basi YTpi", "Basics YTpi", "Digest a",
	    "Basic Og==", "Basic-2 YTpi"};
	static const char *const malformed[] = {
	    "Basic", "Basic YWJj", "Basic YTpiYg", "Basic YTpiYg=",
	    "Basic YTpiYh==", "Basic YTpiYg===", "Basic YTpi YTpi",
	    "Basic \tYTpi", "Basic\tYTpi", "Basic,YTpi", "Basic YTpi,",
	    "Basic YQo6Yg==", "Basic YQA6Yg==", "Basic YX86Yg==",
	    "Basic Pz8_Og==", "Basic:YTpi", "Basic =YTpi"};
	struct arena *arena = arena_new();
	struct span user;
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(
		    find_user(arena, good[i].credentials, &user), SCOPE_FOUND);
		assert_true(span_eq(user, span_str(good[i].user)));
	}
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_int_equal(
		    find_user(arena, none[i], &user), SCOPE_MISSING);
	for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
		assert_int_equal(
		    find_user(arena, malformed[i], &user), SCOPE_MALFORMED);
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_value_of_two_kinds_is_two_tenants),
		cmocka_unit_test(each_kind_has_a_name_of_its_own_for_people),
		cmocka_unit_test(
		    the_user_of_basic_is_what_stands_before_the_first_colon),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
