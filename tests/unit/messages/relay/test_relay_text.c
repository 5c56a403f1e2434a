/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>

#include "base/must.h"
#include "messages/relay/relay_text.h"

/* An event as JSON: whatever bytes it has, the text is valid. */

static struct arena *arena;

static int
begin(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int
end(void **state)
{
	(void)state;
	arena_free(&arena);
	arena_trim();
	return 0;
}

static struct relay_event
payment(void)
{
	return (struct relay_event){.id = SPAN("3-1700000000123-0"),
	    .key_id = SPAN("0011"), .route = SPAN("charges"),
	    .from = SPAN("PROCESSING"), .to = SPAN("COMPLETED"), .status = 201,
	    .attempt = 2, .time_ms = INT64_C(1700000000123)};
}

static json_t *
written(const struct relay_event *event)
{
	struct span text = relay_text_event(arena, event);
	json_error_t error;
	json_t *json =
	    json_loadb(text.ptr, text.len, JSON_ALLOW_NUL, &error);
	assert_non_null(json);
	return json;
}

static void
all_members_are_there_always(void **state)
{
	struct relay_event event = payment();
	(void)state;
	struct span text = relay_text_event(arena, &event);
	assert_true(span_eq(text,
	    SPAN("{\"id\":\"3-1700000000123-0\",\"key_id\":\"0011\","
		 "\"route\":\"charges\",\"from\":\"PROCESSING\","
		 "\"to\":\"COMPLETED\",\"status\":201,\"attempt\":2,"
		 "\"time\":\"2023-11-14T22:13:20.123Z\",\"instance\":null,"
		 "\"request_id\":null,\"label\":null,\"answer\":null}")));
	event.status = 0;
	json_t *json = written(&event);
	assert_true(json_is_null(json_object_get(json, "status")));
	json_decref(json);
}

static void
any_bytes_become_text(void **state)
{
	static const struct {
		struct span bytes, text;
	} cases[] = {
	    {SPAN("a\"b\\c\n\x01"), SPAN("a\"b\\c\n\x01")},
	    {SPAN("\xc3\xa9"), SPAN("\xc3\xa9")},
	    {SPAN("\xe9"), SPAN("\xc3\xa9")}, /* as Latin-1 */
	    {SPAN("\xff\xc3"), SPAN("\xc3\xbf\xc3\x83")},
	    {SPAN(""), SPAN("")},
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct relay_event event = payment();
		event.route = cases[i].bytes;
		json_t *json = written(&event);
		const json_t *route = json_object_get(json, "route");
		assert_true(span_eq(cases[i].text,
		    span_of(json_string_value(route),
			json_string_length(route))));
		json_decref(json);
	}
}

static json_t *
with_body(struct span bytes)
{
	struct relay_event event = payment();
	struct fields none = {NULL, 0};
	struct body body;
	body_init(&body, NULL);
	assert_int_equal(body_append(&body, bytes.ptr, bytes.len), 0);
	event.answer = answer_new(201, &none, &body, SPAN(""));
	json_t *json = written(&event);
	answer_unref(&event.answer);
	return json;
}

static void
a_body_that_is_no_text_is_in_base64(void **state)
{
	static const struct {
		struct span bytes;
		const char *member, *value;
	} cases[] = {
	    {SPAN("{\"a\": 1}"), "body", "{\"a\": 1}"},
	    {SPAN(""), "body", ""},
	    {SPAN("\xff"), "body_base64", "/w=="},
	    {SPAN("a\0b"), "body_base64", "YQBi"}, /* jsonb takes no NUL */
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *json = with_body(cases[i].bytes);
		const json_t *answer = json_object_get(json, "answer");
		assert_string_equal(json_string_value(json_object_get(
					answer, cases[i].member)),
		    cases[i].value);
		assert_int_equal(json_object_size(answer), 3);
		json_decref(json);
	}
}

/* --- signatures --- */

/*
 * The vectors of Standard Webhooks' own libraries: of HMAC-SHA256
 * (libraries/javascript, "sign function works"), and of Ed25519 (libraries/go,
 * TestAsymmetricWebhookSign).
 */
static const char hmac_secret[] = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
static const char hmac_signature[] =
    "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
static const char seed[] = "VEVTVFNJR05JTkdLRVlET05PVFVTRVRISVNGT1JBTlk=";
static const char ed25519_signature[] = "v1a,tQ9V2XOqn7jL/DQenEFpqIugdBVtiMmER5"
	"mhSkXBNwM0mkATuDe6KYYUuxqtaiHeYGb7KaaBRdM5WqyeFiL8Ag==";

static struct conf_webhook_secret
secret_of(const char *text, bool ed25519)
{
	struct conf_webhook_secret secret = {
	    .key = calloc(1, 64), .ed25519 = ed25519};
	must(sodium_base642bin(secret.key, 64, text, strlen(text), NULL,
		 &secret.len, NULL, sodium_base64_VARIANT_ORIGINAL) == 0);
	return secret;
}

static void
check(const struct conf_webhook_secret *secrets, size_t count,
    const char *wanted)
{
	struct arena *own = arena_new();
	struct span text = relay_text_signature(own, secrets, count,
	    SPAN("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
	    SPAN("{\"test\": 2432232314}"));
	assert_string_equal(text.ptr, wanted);
	assert_int_equal(text.len, strlen(wanted));
	arena_free(&own);
}

static void
a_secret_signs_as_the_specification_does(void **state)
{
	struct conf_webhook_secret secret = secret_of(hmac_secret, false);
	(void)state;
	check(&secret, 1, hmac_signature);
	free(secret.key);
}

static void
a_seed_signs_as_the_specification_does(void **state)
{
	struct conf_webhook_secret secret = secret_of(seed, true);
	(void)state;
	check(&secret, 1, ed25519_signature);
	free(secret.key);
}

static void
during_a_rotation_each_secret_signs(void **state)
{
	struct conf_webhook_secret secrets[] = {
	    secret_of(seed, true), secret_of(hmac_secret, false)};
	char wanted[256];
	(void)state;
	snprintf(wanted, sizeof wanted, "%s %s", ed25519_signature,
	    hmac_signature);
	check(secrets, 2, wanted);
	free(secrets[0].key);
	free(secrets[1].key);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		all_members_are_there_always, begin, end),
	    cmocka_unit_test_setup_teardown(any_bytes_become_text, begin, end),
	    cmocka_unit_test_setup_teardown(
		a_body_that_is_no_text_is_in_base64, begin, end),
	    cmocka_unit_test(a_secret_signs_as_the_specification_does),
	    cmocka_unit_test(a_seed_signs_as_the_specification_does),
	    cmocka_unit_test(during_a_rotation_each_secret_signs),
	};
	must(sodium_init() >= 0);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("relay_text", tests, NULL, NULL);
}
