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
#include "messages/relay/signature.h"

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
	struct arena *arena = arena_new();
	struct span text = signature_text(arena, secrets, count,
	    SPAN("msg_p5jXN8AQM9LWM0D4loKWxJek"), 1614265330,
	    SPAN("{\"test\": 2432232314}"));
	assert_string_equal(text.ptr, wanted);
	assert_int_equal(text.len, strlen(wanted));
	arena_free(&arena);
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
	    cmocka_unit_test(a_secret_signs_as_the_specification_does),
	    cmocka_unit_test(a_seed_signs_as_the_specification_does),
	    cmocka_unit_test(during_a_rotation_each_secret_signs),
	};
	must(sodium_init() >= 0);
	return cmocka_run_group_tests_name("signature", tests, NULL, NULL);
}
