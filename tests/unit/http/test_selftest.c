/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "http/head_lines.h"
#include "http/selftest.h"

/*
 * The program's own check of a head's framing is compiled here under other
 * names, so that this test can put one in its place that fails, as it would if
 * libmicrohttpd's buffers were different.
 */
bool real_is_known(const char *version);
void real_begin(struct head_lines *framing, const char *method,
    size_t target_len, const char *version);
void real_field(
    struct head_lines *framing, struct span name, struct span value);
void real_end(struct head_lines *framing, const char *head_end);
#define head_lines_are_known real_is_known
#define head_lines_begin real_begin
#define head_lines_field real_field
#define head_lines_end real_end
#include "http/head_lines.c"
#undef head_lines_are_known
#undef head_lines_begin
#undef head_lines_field
#undef head_lines_end

static bool known_version = true;
static bool sees = true;
static bool sees_too_much = false;

bool
head_lines_are_known(const char *version)
{
	return known_version && real_is_known(version);
}

void
head_lines_begin(struct head_lines *framing, const char *method,
    size_t target_len, const char *version)
{
	real_begin(framing, method, target_len, version);
}

void
head_lines_field(
    struct head_lines *framing, struct span name, struct span value)
{
	real_field(framing, name, value);
}

void
head_lines_end(struct head_lines *framing, const char *head_end)
{
	real_end(framing, head_end);
	framing->broken = (framing->broken && sees) || sees_too_much;
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
	assert_refused("a folded line would be served");
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

/* Even where it has the faults of this version. */
static void
another_version_is_not_believed_unseen(void **state)
{
	(void)state;
	known_version = false;
	assert_refused("would be served");
	known_version = true;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(this_libmicrohttpd_passes),
	    cmocka_unit_test(a_check_that_sees_nothing_is_found_out),
	    cmocka_unit_test(a_check_that_sees_too_much_is_found_out),
	    cmocka_unit_test(another_version_is_not_believed_unseen),
	};
	return cmocka_run_group_tests_name("selftest", tests, NULL, NULL);
}
