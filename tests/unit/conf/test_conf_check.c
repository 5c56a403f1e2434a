/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

#include <unistd.h>

#include "operators/commands/check.h"

/* What `check` says about a file with that text, with "FILE" for its name. */
static char *
said_about(const char *text, int *ret_code)
{
	char name[] = "/tmp/onceproxy-check-XXXXXX";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);

	FILE *said = tmpfile();
	assert_non_null(said);
	fflush(stdout);
	int saved = dup(STDOUT_FILENO);
	assert_true(dup2(fileno(said), STDOUT_FILENO) >= 0);
	const struct command_line given = {.file = name};
	*ret_code = check_run(&given);
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	unlink(name);

	char *lines = mem_str(SPAN(""));
	char line[512];
	rewind(said);
	while (fgets(line, sizeof line, said) != NULL) {
		assert_memory_equal(line, name, strlen(name));
		char *more =
		    mem_printf("%sFILE%s", lines, line + strlen(name));
		free(lines);
		lines = more;
	}
	fclose(said);
	return lines;
}

static void
assert_said(const char *text, const char *expected, int expected_code)
{
	int code;
	char *json = try_json(text);
	char *lines = said_about(json, &code);
	assert_string_equal(lines, expected);
	assert_int_equal(code, expected_code);
	free(lines);
	free(json);
}

static void
a_valid_file_is_ok(void **state)
{
	(void)state;
	assert_said(TRY_ROUTE("'path':'/'"), "FILE: ok\n", 0);
}

static void
a_file_that_only_serve_refuses_is_ok(void **state)
{
	(void)state;
	assert_said(TRY_POLICY("'on_unknown':'retry'"),
	    "FILE:1:137: warning: /routes/0/idempotency/on_unknown: what may "
	    "have happened is executed again: a payment may be made twice\n"
	    "FILE: ok\n", 0);
}

static void
each_error_is_a_line(void **state)
{
	(void)state;
	assert_said("{" TRY_LISTEN ",'upstreams':{},'routes':["
		    "{'path':'/','upstream':'x'}],'a\\nb':1}",
	    "FILE:1:78: /routes/0/upstream: no upstream is named \"x\"\n"
	    "FILE:1:84: /a\\u000ab: there is no such member\n", 1);
	assert_said("{'listen'}",
	    "FILE:1:10: \":\" is missing between a member's name and its "
	    "value\n", 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_valid_file_is_ok),
	    cmocka_unit_test(a_file_that_only_serve_refuses_is_ok),
	    cmocka_unit_test(each_error_is_a_line),
	};
	return cmocka_run_group_tests_name("conf_check", tests, NULL, NULL);
}
