/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/digest.h"
#include "gate/key/key.h"
#include "gate/key/scope.h"

/* Keys that are derived from bodies, and scopes. */
static char idempotency_key[] = "Idempotency-Key";
static char *key_names[] = {idempotency_key};
static char authorization[] = "Authorization", account[] = "X-Account";
static struct conf_scope scope_names[] = {
	{.header = authorization}, {.header = account}};

static struct span
derive(struct arena *arena, const struct conf_idempotency *policy,
    const char *body)
{
	struct content content = content_of(span_str(body));
	struct key key;

	if (key_derive(arena, policy, &content, &key) == KEY_MISSING)
		return SPAN("");
	assert_true(key.bytes.len > 0);
	return key.bytes;
}

static void
the_body_makes_a_key(void **state)
{
	struct conf_idempotency policy = {.derive_from_body = true};
	struct arena *arena = arena_new();

	(void)state;
	struct span key = derive(arena, &policy, "{\"a\":1}");
	assert_true(key.len > 0);
	assert_true(span_eq(key, derive(arena, &policy, "{\"a\":1}")));
	assert_false(span_eq(key, derive(arena, &policy, "{\"a\": 1}")));
	assert_true(derive(arena, &policy, "not JSON").len > 0);
	assert_int_equal(derive(arena, &policy, "").len, 0);
	arena_free(&arena);
}

static struct span order_id[] = {{"order_id", 8}};
static struct span action[] = {{"action", 6}};
static struct json_pointer order_and_action[] = {{order_id, 1}, {action, 1}};
static struct json_pointer action_and_order[] = {{action, 1}, {order_id, 1}};

static void
pointed_values_make_a_key(void **state)
{
	static const char *const same[] = {
		"{\"order_id\":7,\"action\":\"pay\"}",
		"{ \"action\" : \"pay\", \"order_id\" : 7.0 }",
		"{\"note\":[1,2],\"action\":\"p\\u0061y\",\"order_id\":70e-1}",
	};
	static const char *const others[] = {
		"{\"order_id\":\"7\",\"action\":\"pay\"}",
		"{\"order_id\":8,\"action\":\"pay\"}",
		"{\"order_id\":7,\"action\":\"refund\"}",
		"{\"order_id\":\"pay\",\"action\":7}",
		"{\"order_id\":[7],\"action\":\"pay\"}",
		"{\"order_id\":{},\"action\":[]}",
		"{\"order_id\":[],\"action\":{}}",
		"{\"order_id\":\" \",\"action\":0}",
		"{\"order_id\":9007199254740993,\"action\":\"pay\"}",
		"{\"order_id\":9007199254740992,\"action\":\"pay\"}",
	};
	enum { OTHERS = sizeof others / sizeof *others };
	struct conf_idempotency policy = {
		.derive_from = {order_and_action, 2},
	};
	struct arena *arena = arena_new();
	struct span keys[OTHERS + 1];

	(void)state;
	keys[OTHERS] = derive(arena, &policy, same[0]);
	assert_true(keys[OTHERS].len > 0);
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		assert_true(
		    span_eq(keys[OTHERS], derive(arena, &policy, same[i])));
	for (size_t i = 0; i < OTHERS; i++) {
		keys[i] = derive(arena, &policy, others[i]);
		assert_true(keys[i].len > 0);
		for (size_t j = 0; j < i; j++)
			assert_false(span_eq(keys[i], keys[j]));
		assert_false(span_eq(keys[i], keys[OTHERS]));
	}
	/* Where it was derived from counts as well. */
	policy.derive_from.list = action_and_order;
	struct span turned =
	    derive(arena, &policy, "{\"order_id\":1,\"action\":1}");
	policy.derive_from.list = order_and_action;
	assert_false(span_eq(
	    derive(arena, &policy, "{\"order_id\":1,\"action\":1}"), turned));
	arena_free(&arena);
}

static void
a_body_without_the_values_has_no_key(void **state)
{
	static const char *const bodies[] = {
		"",
		"{}",
		"[]",
		"7",
		"{\"order_id\":7}",
		"{\"action\":\"pay\"}",
		"{\"order_id\":null,\"action\":\"pay\"}",
		"{\"order_id\":7,\"action\":null}",
		"{\"order_id\":\"\",\"action\":\"pay\"}",
		"{\"Order_id\":7,\"action\":\"pay\"}",
		"{\"x\":{\"order_id\":7,\"action\":\"pay\"}}",
		/* not JSON, or not exactly one value */
		"order_id=7&action=pay",
		"{\"order_id\":7,\"action\":\"pay\"",
		"{\"order_id\":7,\"action\":\"pay\"} x",
		"{\"order_id\":7,\"order_id\":8,\"action\":\"pay\"}",
		"{\"order_id\":7,\"action\":\"\xff\"}",
	};
	struct conf_idempotency policy = {
		.derive_from = {order_and_action, 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		struct arena *arena = arena_new();
		if (derive(arena, &policy, bodies[i]).len)
			fail_msg("%s has a key", bodies[i]);
		arena_free(&arena);
	}
}

static void
a_policy_without_derive_key_derives_none(void **state)
{
	struct conf_idempotency policy = {.max_length = 255};
	struct arena *arena = arena_new();

	(void)state;
	assert_int_equal(derive(arena, &policy, "{\"a\":1}").len, 0);
	arena_free(&arena);
}

static void
no_client_can_send_a_derived_key(void **state)
{
	struct conf_idempotency body = {.derive_from_body = true};
	struct conf_idempotency json = {.derive_from = {order_and_action, 2}};
	struct conf_idempotency sent = {
		.headers = {key_names, 1},
		.max_length = 255,
	};
	struct arena *arena = arena_new();

	(void)state;
	struct span keys[] = {
		derive(arena, &body, "{\"order_id\":7,\"action\":1}"),
		derive(arena, &json, "{\"order_id\":7,\"action\":1}"),
	};
	assert_false(span_eq(keys[0], keys[1]));
	for (size_t i = 0; i < 2; i++) {
		struct field bare = {SPAN("Idempotency-Key"), keys[i]};
		struct field quoted = {
			SPAN("Idempotency-Key"),
			arena_printf(arena, "\"%.*s\"", SPAN_FMT(keys[i])),
		};
		struct fields one = {&bare, 1}, other = {&quoted, 1};
		struct key key;
		assert_true(keys[i].len > DIGEST_HEX);
		assert_int_equal(
		    key_find(arena, &sent, &one, &key), KEY_INVALID);
		assert_int_equal(
		    key_find(arena, &sent, &other, &key), KEY_INVALID);
	}
	arena_free(&arena);
}

/* --- scope --- */

struct scoped {
	struct field list[3];
	size_t count;
	enum scope_verdict verdict;
	const char *values[2];
};

#define FIELD(name, value) \
	{{name, sizeof(name) - 1}, {value, sizeof(value) - 1}}

static void
the_scope_is_the_values_of_its_fields(void **state)
{
	static const struct scoped table[] = {
		{{FIELD("Authorization", "a")}, 1, SCOPE_FOUND, {"a", ""}},
		{{FIELD("x-account", "b")}, 1, SCOPE_FOUND, {"", "b"}},
		{{FIELD("X-Account", "b"), FIELD("AUTHORIZATION", "a")}, 2,
		    SCOPE_FOUND, {"a", "b"}},
		{{FIELD("Authorization", ""), FIELD("X-Account", "b")}, 2,
		    SCOPE_FOUND, {"", "b"}},
		{{FIELD("Authorization", "a, b")}, 1, SCOPE_FOUND,
		    {"a, b", ""}},
		{{FIELD("Accept", "a")}, 1, SCOPE_MISSING, {"", ""}},
		{{FIELD("Authorization", "")}, 1, SCOPE_MISSING, {"", ""}},
		{{FIELD("Authorization", ""), FIELD("X-Account", "")}, 2,
		    SCOPE_MISSING, {"", ""}},
		{{FIELD("Accept", "a")}, 0, SCOPE_MISSING, {"", ""}},
		{{FIELD("Authorization", "a"), FIELD("Authorization", "a")}, 2,
		    SCOPE_REPEATED, {"", ""}},
		{{FIELD("Authorization", "a"), FIELD("authorization", "b")}, 2,
		    SCOPE_REPEATED, {"", ""}},
		{{FIELD("Authorization", "a"), FIELD("X-Account", "b"),
		     FIELD("x-account", "")}, 3, SCOPE_REPEATED, {"", ""}},
		{{FIELD("X-Account", ""), FIELD("X-Account", "")}, 2,
		    SCOPE_REPEATED, {"", ""}},
	};
	struct conf_idempotency policy = {.scope = {scope_names, 2}};

	struct arena *arena = arena_new();
	(void)state;
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct field list[3];
		struct fields fields = {list, table[i].count};
		struct span values[2] = {SPAN("before"), SPAN("before")};
		memcpy(list, table[i].list, sizeof list);
		const struct scope_request request = {
			.arena = arena, .fields = &fields};
		assert_int_equal(scope_find(&policy, &request, values),
		    table[i].verdict);
		for (size_t v = 0; v < 2; v++)
			assert_true(span_eq(values[v],
			    table[i].verdict == SCOPE_FOUND
				? span_str(table[i].values[v])
				: SPAN("before")));
	}
	arena_free(&arena);
}

static void
no_scope_on_purpose_is_one_for_all(void **state)
{
	struct conf_idempotency policy = {.scope = {NULL, 0}};
	struct field list[] = {FIELD("Authorization", "a"),
		FIELD("Authorization", "b")};
	struct fields fields = {list, 2};

	(void)state;
	struct arena *arena = arena_new();
	struct span value;
	const struct scope_request request = {
		.arena = arena, .fields = &fields};
	assert_int_equal(scope_find(&policy, &request, &value), SCOPE_FOUND);
	arena_free(&arena);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_body_makes_a_key),
		cmocka_unit_test(pointed_values_make_a_key),
		cmocka_unit_test(a_body_without_the_values_has_no_key),
		cmocka_unit_test(a_policy_without_derive_key_derives_none),
		cmocka_unit_test(no_client_can_send_a_derived_key),
		cmocka_unit_test(the_scope_is_the_values_of_its_fields),
		cmocka_unit_test(no_scope_on_purpose_is_one_for_all),
	};
	return cmocka_run_group_tests_name("derive", tests, NULL, NULL);
}
