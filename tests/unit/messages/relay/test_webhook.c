/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/must.h"
#include "http/head/header_value.h"
#include "messages/relay/webhook.h"

enum { HOUR_MS = 3600 * 1000, DAY_S = 24 * 3600, LAST_S = 3 * DAY_S };

static int64_t
next_ms(unsigned tries, int64_t ran_s, int64_t after_ms, uint32_t chance)
{
	int64_t ms = 0;
	assert_true(
	    webhook_retry_ms(tries, ran_s, after_ms, chance, &ms));
	return ms;
}

static void
it_doubles_from_a_second_to_an_hour(void **state)
{
	(void)state;
	assert_int_equal(next_ms(1, 0, 0, 0), 1000);
	assert_int_equal(next_ms(2, 0, 0, 0), 2000);
	assert_int_equal(next_ms(12, 0, 0, 0), 2048000);
	assert_int_equal(next_ms(13, 0, 0, 0), HOUR_MS);
	assert_int_equal(next_ms(4000000000U, 0, 0, 0), HOUR_MS);
}

static void
jitter_adds_less_than_a_quarter(void **state)
{
	(void)state;
	for (uint32_t chance = 0; chance < 100000; chance += 7)
		assert_in_range(next_ms(3, 0, 0, chance), 4000, 4999);
	assert_int_equal(next_ms(3, 0, 0, 999), 4999);
}

static void
the_receiver_may_say_later_and_not_sooner(void **state)
{
	(void)state;
	assert_int_equal(next_ms(1, 0, 30000, 0), 30000);
	assert_int_equal(next_ms(5, 0, 3000, 0), 16000);
}

static void
the_last_try_is_at_the_end_of_three_days(void **state)
{
	int64_t ms = 7;
	(void)state;
	assert_int_equal(next_ms(90, LAST_S - 5, 0, 0), 5000);
	assert_int_equal(next_ms(1, DAY_S, 9 * (int64_t)DAY_S * 1000, 0),
	    2 * DAY_S * 1000);
	assert_false(webhook_retry_ms(90, LAST_S, 0, 0, &ms));
	assert_false(webhook_retry_ms(12, INT64_C(1) << 40, 0, 0, &ms));
	assert_int_equal(ms, 7);
}

static void
nothing_is_given_up_before_twelve_tries(void **state)
{
	(void)state;
	assert_int_equal(next_ms(1, LAST_S, 0, 0), 1000);
	assert_int_equal(next_ms(11, 9 * LAST_S, 0, 0), 1024000);
	assert_int_equal(next_ms(11, LAST_S, HOUR_MS, 0), HOUR_MS);
}

static int64_t
after(const char *value)
{
	struct field list[] = {{SPAN("Date"), SPAN("x")},
	    {SPAN("retry-after"), span_str(value)}};
	struct fields fields = {list, 2};
	return header_value_retry_after(&fields, INT64_C(784111777000) - 90000);
}

static void
retry_after_is_seconds_or_a_date(void **state)
{
	struct fields none = {0};
	(void)state;
	assert_int_equal(after("120"), 120000);
	assert_int_equal(after("0"), 0);
	assert_int_equal(after("Sun, 06 Nov 1994 08:49:37 GMT"), 90000);
	assert_int_equal(after("Sun, 06 Nov 1994 08:40:37 GMT"), 0);
	assert_int_equal(after("-1"), 0);
	assert_int_equal(after("soon"), 0);
	assert_int_equal(after("99999999999999999999"), 0);
	assert_int_equal(header_value_retry_after(&none, 0), 0);
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
	struct span text = webhook_signature(own, secrets, count,
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
	    cmocka_unit_test(it_doubles_from_a_second_to_an_hour),
	    cmocka_unit_test(jitter_adds_less_than_a_quarter),
	    cmocka_unit_test(the_receiver_may_say_later_and_not_sooner),
	    cmocka_unit_test(the_last_try_is_at_the_end_of_three_days),
	    cmocka_unit_test(nothing_is_given_up_before_twelve_tries),
	    cmocka_unit_test(retry_after_is_seconds_or_a_date),
	    cmocka_unit_test(a_secret_signs_as_the_specification_does),
	    cmocka_unit_test(a_seed_signs_as_the_specification_does),
	    cmocka_unit_test(during_a_rotation_each_secret_signs),
	};
	must(sodium_init() >= 0);
	return cmocka_run_group_tests_name("webhook", tests, NULL, NULL);
}
