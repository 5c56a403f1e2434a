/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <microhttpd.h>

#include "http/front/selftest.h"

/*
 * The program's own reading of what a client sends is compiled here, so that
 * this test can have libmicrohttpd run without it, as it would if it did not
 * call us to read; or have it find all wrong.
 */
#define client_io_run real_run
#include "http/front/client_io.c"
#undef client_io_run

void client_io_run(struct front *front, struct MHD_Daemon *daemon);

static bool reads_past_us = false;
static bool finds_all_wrong = false;

void
client_io_run(struct front *front, struct MHD_Daemon *daemon)
{
	if (finds_all_wrong && !list_empty(&front->all))
		LIST_FIRST(&front->all, struct client_connection, link)
		    ->wire.verdict = HEAD_CHECK_BAD_REQUEST;
	if (reads_past_us)
		MHD_run(daemon);
	else
		real_run(front, daemon);
}

static bool drops_fields = false;

/* The dynamic linker finds this one first. */
_MHD_EXTERN enum MHD_Result
MHD_add_response_header(
    struct MHD_Response *response, const char *name, const char *value)
{
	enum MHD_Result (*real)(
	    struct MHD_Response *, const char *, const char *);
	*(void **)&real = dlsym(RTLD_NEXT, "MHD_add_response_header");
	if (drops_fields && strcmp(name, "Connection") != 0)
		return MHD_YES;
	return real(response, name, value);
}

static struct conf *
configuration(void)
{
	static char urn[] = "urn:";
	static struct conf conf;
	conf = (struct conf){.refs = 1,
	    .workers = 1,
	    .max_connections = 16,
	    .max_request_headers = 32768,
	    .idle_timeout_ms = 60000,
	    .header_timeout_ms = 60000,
	    .problem_base = urn};
	return &conf;
}

static void
this_libmicrohttpd_passes(void **state)
{
	char *message = NULL;
	(void)state;
	if (!selftest(configuration(), &message))
		fail_msg("%s", message);
}

static void
assert_refused(const char *part)
{
	char *message = NULL;
	assert_false(selftest(configuration(), &message));
	if (strstr(message, part) == NULL)
		fail_msg("\"%s\" is not in: %s", part, message);
	free(message);
}

static void
one_that_reads_past_us_is_found_out(void **state)
{
	(void)state;
	reads_past_us = true;
	assert_refused("a request would be refused");
	reads_past_us = false;
}

static void
a_check_that_finds_all_wrong_is_found_out(void **state)
{
	(void)state;
	finds_all_wrong = true;
	assert_refused("a request would be refused");
	finds_all_wrong = false;
}

static void
fields_that_are_not_those_that_were_given_are_found_out(void **state)
{
	(void)state;
	drops_fields = true;
	assert_refused("an answer gets other fields than it is given");
	drops_fields = false;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(this_libmicrohttpd_passes),
	    cmocka_unit_test(one_that_reads_past_us_is_found_out),
	    cmocka_unit_test(a_check_that_finds_all_wrong_is_found_out),
	    cmocka_unit_test(
		fields_that_are_not_those_that_were_given_are_found_out),
	};
	return cmocka_run_group_tests_name("selftest", tests, NULL, NULL);
}
