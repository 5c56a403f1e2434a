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
 * The program's own reading of what a client sends is compiled here under
 * another name, so that this test can put one in its place that fails, as it
 * would if libmicrohttpd did not call us to read.
 */
#include "http/front/client_connection_private.h"
size_t real_take(struct client_connection *c, const char *bytes, size_t len,
    char *to, size_t room, size_t *ret_shown);
#define head_queue_take real_take
#include "http/front/head_queue.c"
#undef head_queue_take

static bool sees = true;
static bool sees_too_much = false;

size_t
head_queue_take(struct client_connection *c, const char *bytes, size_t len,
    char *to, size_t room, size_t *ret_shown)
{
	*ret_shown = 0;
	if (sees && !sees_too_much)
		return real_take(c, bytes, len, to, room, ret_shown);
	if (sees) {
		c->wire.verdict = HEAD_CHECK_BAD_REQUEST;
		c->wire.requests = 1;
		return 0;
	}
	must(len <= room);
	memcpy(to, bytes, len);
	*ret_shown = len;
	return len;
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
a_check_that_sees_nothing_is_found_out(void **state)
{
	(void)state;
	sees = false;
	assert_refused("a request would be refused");
	sees = true;
}

static void
a_check_that_sees_too_much_is_found_out(void **state)
{
	(void)state;
	sees_too_much = true;
	assert_refused("a request would be refused");
	sees_too_much = false;
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
	    cmocka_unit_test(a_check_that_sees_nothing_is_found_out),
	    cmocka_unit_test(a_check_that_sees_too_much_is_found_out),
	    cmocka_unit_test(
		fields_that_are_not_those_that_were_given_are_found_out),
	};
	return cmocka_run_group_tests_name("selftest", tests, NULL, NULL);
}
