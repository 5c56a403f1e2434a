/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "http/front/route.h"
#include "http/head/request_target.h"

#define TEXT(s) {SEGMENT_TEXT, {s, sizeof(s) - 1}}
#define ANY {SEGMENT_ANY, {"", 0}}
#define REST {SEGMENT_REST, {"", 0}}

static char post[] = "POST", get[] = "GET", put[] = "PUT";
static char *only_post[] = {post};
static char *get_or_put[] = {get, put};

static char charges[] = "charges", one[] = "one", search[] = "search",
	    reports[] = "reports", two[] = "two", root[] = "root";
static struct conf_segment charges_path[] = {TEXT("v1"), TEXT("charges")};
static struct conf_segment one_path[] = {TEXT("v1"), TEXT("charges"), ANY};
static struct conf_segment search_path[] = {TEXT("v1"), ANY, TEXT("search")};
static struct conf_segment reports_path[] = {TEXT("reports"), REST};
static struct conf_segment two_path[] = {ANY, TEXT(" a b"), REST};

static struct conf_route routes[] = {
	{.name = charges, .methods = {only_post, 1}, .segments = charges_path,
	    .n_segments = 2},
	{.name = one, .methods = {get_or_put, 2}, .segments = one_path,
	    .n_segments = 3},
	{.name = search, .segments = search_path, .n_segments = 3},
	{.name = reports, .segments = reports_path, .n_segments = 2},
	{.name = two, .segments = two_path, .n_segments = 3},
	{.name = root, .segments = NULL, .n_segments = 0},
};

static const struct conf_route *
find(const struct conf *conf, struct span method, struct span spelling)
{
	const struct request_target target = {.spelling = spelling};
	const struct conf_route *route;

	assert_true(route_find(conf, method, &target, &route));
	return route;
}

/* Whether the target is well-formed and has one reading; then, its route. */
static bool
find_target(const struct conf *conf, const char *text,
    const struct conf_route **ret_route)
{
	struct arena *arena = arena_new();
	struct request_target target;

	if (!request_target_parse(arena, span_str(text), &target))
		fail_msg("refused: %s", text);
	bool found = route_find(conf, SPAN("POST"), &target, ret_route);
	arena_free(&arena);
	return found;
}

static const char *
route_of(const char *method, const char *spelling)
{
	const struct conf conf = {.routes = routes, .n_routes = 6};
	const struct conf_route *route =
	    find(&conf, span_str(method), span_str(spelling));

	return route ? route->name : "none";
}

static void
the_first_route_that_fits_serves(void **state)
{
	static const char *const table[][3] = {
		{"POST", "/v1/charges", "charges"},
		{"GET", "/v1/charges", "none"},
		{"post", "/v1/charges", "none"},
		{"POS", "/v1/charges", "none"},
		{"POSTS", "/v1/charges", "none"},
		{"POST", "/v1/Charges", "none"},
		{"POST", "/v1/charge", "none"},
		{"POST", "/v1/chargess", "none"},
		{"POST", "/v1", "none"},
		{"POST", "/v1/charges/7", "none"},
		{"GET", "/v1/charges/7", "one"},
		{"PUT", "/v1/charges/ ", "one"},
		{"GET", "/v1/charges/7/x", "none"},
		/* both match: their order in the file decides */
		{"GET", "/v1/charges/search", "one"},
		{"POST", "/v1/charges/search", "search"},
		{"BREW", "/v1/x/search", "search"},
		{"GET", "/v1/x/search/y", "none"},
		{"GET", "/reports", "reports"},
		{"GET", "/reports/a", "reports"},
		{"GET", "/reports/a/b/c", "reports"},
		{"GET", "/reportsx", "none"},
		/* blanks are bytes like any other */
		{"GET", "/x/ a b", "two"},
		{"GET", "/x/ a b/y", "two"},
		{"GET", "/x/a b", "none"},
		{"GET", "/ reports", "none"},
		{"GET", "/", "root"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		const char *got = route_of(table[i][0], table[i][1]);
		if (strcmp(got, table[i][2]) != 0)
			fail_msg("%s %s: %s", table[i][0], table[i][1], got);
	}
}

static void
a_final_star_alone_takes_everything(void **state)
{
	struct conf_segment rest[] = {REST};
	struct conf_route route = {.segments = rest, .n_segments = 1};
	const struct conf conf = {.routes = &route, .n_routes = 1};

	(void)state;
	assert_ptr_equal(find(&conf, SPAN("GET"), SPAN("/")), &route);
	assert_ptr_equal(find(&conf, SPAN("GET"), SPAN("/a/b")), &route);
}

static void
no_routes_serve_nothing(void **state)
{
	const struct conf conf = {.routes = NULL};

	(void)state;
	assert_null(find(&conf, SPAN("GET"), SPAN("/")));
}

static void
a_spelling_that_is_not_text_fits_no_other_text(void **state)
{
	const struct conf conf = {.routes = routes, .n_routes = 6};

	(void)state;
	assert_null(find(&conf, SPAN("POST"), SPAN("/v1/charges\0")));
	assert_null(find(&conf, SPAN("POST\0"), SPAN("/v1/charges")));
}

/* The catch-all after the idempotent route must never get one of these. */
static void
no_spelling_of_a_path_slips_past_its_route(void **state)
{
	static const char *const spellings[] = {
		"/v1/charges",
		"/v1/charges/",
		"/v1/charges//",
		"//v1/charges",
		"/v1//charges",
		"///v1///charges///",
		"/./v1/charges",
		"/v1/./charges",
		"/v1/charges/.",
		"/v1/charges/./",
		"/../v1/charges",
		"/x/../v1/charges",
		"/v1/x/../charges",
		"/v1/charges/x/..",
		"/v1/charges/x/../",
		"/v1/charges/x/y/../..",
		"/a/b/../../v1/charges",
		"/%76%31/%63%68%61%72%67%65%73",
		"/v1/char%67es",
		"/v1/ch%61rges",
		"/v1/%2e/charges",
		"/v1/x/%2e%2e/charges",
		"/v1/x/%2E./charges",
		"/v1/x/.%2E/charges",
		"/v1/charges?",
		"/v1/charges?x=/v2",
		"/v1/charges/?x",
		"http://example.com/v1/charges",
		"http://example.com:8080/v1/charges/",
		"https://example.com//v1/./charges",
	};
	struct conf_segment rest[] = {REST};
	struct conf_route list[] = {
		{.methods = {only_post, 1}, .segments = charges_path,
		    .n_segments = 2},
		{.segments = rest, .n_segments = 1},
	};
	const struct conf conf = {.routes = list, .n_routes = 2};

	(void)state;
	for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
		const struct conf_route *route;
		if (!find_target(&conf, spellings[i], &route) ||
		    route != &list[0])
			fail_msg("slipped past: %s", spellings[i]);
	}
}

/* "%2F" is a slash to some servers and none to others. */
static void
a_path_of_two_readings_has_no_route(void **state)
{
	static const char *const readings[] = {
		"/v1%2Fcharges", "/v1%2fcharges", "/%2Fv1/charges",
		"/v1/charges%2F", "/v1/charges%2f%2F", "/v1/x%2F..%2Fcharges",
		"/v1/x/..%2Fcharges", "/x/%2e%2e%2Fv1%2Fcharges",
		"/static/..%2Fv1/charges", "/static%2F..%2Fv1/charges",
		"HTTP://[::1]/v1%2Fcharges?x",
		/* only where dots that a "%2F" hid are resolved in the end */
		"/v1/q/y%2F../../..%2Fcharges",
	};
	static const char *const plain[] = {
		"/static/a%2Fb", "/static/..%2Fx", "/v1/charges/..%2Fx",
		"/a%2Fv1/charges",
	};
	const struct conf_idempotency policy = {.required = true};
	struct conf_segment files[] = {TEXT("static"), REST}, rest[] = {REST};
	struct conf_route list[] = {
		{.segments = files, .n_segments = 2},
		{.segments = charges_path, .n_segments = 2,
		    .idempotency = &policy},
		{.segments = rest, .n_segments = 1},
	};
	struct conf conf = {.routes = list, .n_routes = 3};
	const struct conf_route *route;

	(void)state;
	for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
		if (find_target(&conf, readings[i], &route))
			fail_msg("has a route: %s", readings[i]);
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		if (!find_target(&conf, plain[i], &route) || route == &list[1])
			fail_msg("has none: %s", plain[i]);
	/* Without keys it is the first one, and nothing is to be refused. */
	list[1].idempotency = NULL;
	assert_true(find_target(&conf, readings[0], &route));
	assert_ptr_equal(route, &list[1]);
	assert_true(find_target(&conf, "/static/..%2Fv1/charges", &route));
	assert_ptr_equal(route, &list[0]);
	/* Where a reading has no route there is nothing to slip to. */
	list[1].idempotency = &policy;
	conf.n_routes = 2;
	assert_true(find_target(&conf, readings[0], &route));
	assert_ptr_equal(route, &list[1]);
}

/* What the upstream takes for one segment may fill a route's variable. */
static void
a_coded_slash_within_a_variable_does_not_hide_the_route(void **state)
{
	static const char *const inside[] = {
		"/v1/a%2Fb/refund", "/v1/a%2fb/refund/", "/v1/%2F/refund",
		"/v1/..%2Fx/refund", "/v1/x%2F../refund", "/v1/a/refund",
		"//v1//%2f%2f/./refund",
		"/v1/..%2F..%2F/refund",
	};
	static const char *const outside[] = {
		"/v1/a/b/refund", "/v1/a%2Fb/c/refund", "/v1/a%2Frefund/x",
		"/v1/%2Frefundx",
	};
	/* The variable is "a" or "b/../a", "." or "./". */
	static const char *const readings[] = {
		"/v1/b%2F..%2Fa/refund", "/v1/%2E%2F/refund",
	};
	const struct conf_idempotency policy = {.required = true};
	struct conf_segment path[] = {TEXT("v1"), ANY, TEXT("refund")};
	struct conf_route list[] = {{.segments = path, .n_segments = 3,
	    .idempotency = &policy}};
	const struct conf conf = {.routes = list, .n_routes = 1};
	const struct conf_route *route;

	(void)state;
	for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
		if (!find_target(&conf, inside[i], &route) || route != list)
			fail_msg("slipped past: %s", inside[i]);
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		if (!find_target(&conf, outside[i], &route) || route != NULL)
			fail_msg("matched: %s", outside[i]);
	for (size_t i = 0; i < sizeof readings / sizeof *readings; i++)
		if (find_target(&conf, readings[i], &route))
			fail_msg("has one value: %s", readings[i]);
}

static void
other_paths_do_not_get_its_route(void **state)
{
	static const char *const others[] = {
		"/v1/charges;x", "/v1/charges%5C", "/v1/charges%20",
		"/v1/charges%3F", "/v1/Charges", "/v1/charges/x",
		"/v1/%2563harges", "/v1%252Fcharges", "/v1/charges/..",
		"/v1/charges.", "/v1/..;/charges", "/x/v1/charges", "/v1",
		"/", "/?/v1/charges", "/v1/charges%0a",
	};
	const struct conf conf = {.routes = routes, .n_routes = 1};

	(void)state;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		const struct conf_route *route;
		if (!find_target(&conf, others[i], &route) || route != NULL)
			fail_msg("matched: %s", others[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_route_that_fits_serves),
		cmocka_unit_test(a_final_star_alone_takes_everything),
		cmocka_unit_test(no_routes_serve_nothing),
		cmocka_unit_test(
		    a_spelling_that_is_not_text_fits_no_other_text),
		cmocka_unit_test(no_spelling_of_a_path_slips_past_its_route),
		cmocka_unit_test(a_path_of_two_readings_has_no_route),
		cmocka_unit_test(
		    a_coded_slash_within_a_variable_does_not_hide_the_route),
		cmocka_unit_test(other_paths_do_not_get_its_route),
	};
	return cmocka_run_group_tests_name("route", tests, NULL, NULL);
}
