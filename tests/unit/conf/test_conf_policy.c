/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

#include "conf/load/conf_restart.h"

/* --- defaults and routes --- */

#define TRY_INHERIT(defaults, route)                                 \
	"{" TRY_LISTEN "," TRY_UPSTREAMS                             \
	",'routes':[{'path':'/','upstream':'u','idempotency':{" route \
	"}},{'path':'/p','upstream':'u'}],'defaults':{" defaults "}}"

static void
a_route_starts_from_the_defaults_member_by_member(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(TRY_INHERIT(
	    "'lease':'3s','scope':['X-A','X-B'],'derive_key':'body',"
	    "'fingerprint':{'headers':['X-C'],'json':true},"
	    "'max_request_body':5,'on_unknown':{'reconcile':'/{key}'},"
	    "'send_derived':true",
	    "'scope':['X-D'],'fingerprint':{'include':['body']},"
	    "'derive_key':['/a']"));
	const struct conf_idempotency *p = conf->routes[0].idempotency;
	assert_int_equal(p->lease_ms, 3000);
	assert_int_equal(p->max_request_body, 5);
	assert_int_equal(p->scope.count, 1);
	assert_string_equal(p->scope.list[0].header, "X-D");
	assert_int_equal(p->fingerprint_headers.count, 1);
	assert_true(p->fingerprint_json);
	assert_int_equal(p->fingerprint_include, FINGERPRINT_BODY);
	assert_false(p->derive_from_body);
	assert_int_equal(p->derive_from.count, 1);
	assert_string_equal(p->reconcile.path.text, "/{key}");
	assert_int_equal(p->max_attempts, 5);

	p = conf->defaults;
	assert_int_equal(p->scope.count, 2);
	assert_true(p->derive_from_body);
	assert_int_equal(p->derive_from.count, 0);
	assert_null(conf->routes[1].idempotency);
	conf_unref(&conf);
}

static void
a_route_may_take_back_what_the_defaults_say(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(TRY_INHERIT(
	    "'on_unknown':{'reconcile':'/{key}'},'derive_key':['/a'],"
	    "'fingerprint':{'ignore':['/a']},'replay_header':'X'",
	    "'on_unknown':'hold','derive_key':'body',"
	    "'fingerprint':{'ignore':[]},'replay_header':''"));
	const struct conf_idempotency *p = conf->routes[0].idempotency;
	assert_int_equal(p->on_unknown, UNKNOWN_HOLD);
	assert_null(p->reconcile.path.text);
	assert_true(p->derive_from_body);
	assert_int_equal(p->derive_from.count, 0);
	assert_int_equal(p->fingerprint_ignore.count, 0);
	assert_false(p->fingerprint_json);
	assert_string_equal(p->replay_header, "");
	assert_true(conf->defaults->fingerprint_json);
	conf_unref(&conf);
}

static void
what_is_wrong_in_the_defaults_is_said_once(void **state)
{
	(void)state;
	char *lines =
	    try_wrong(TRY_INHERIT("'lease':'1','x':0", "'lease':'2'"));
	assert_string_equal(lines,
	    "/routes/0/idempotency/lease: must be a duration like "
	    "\"250ms\", \"30s\", \"5m\", \"24h\" or \"30d\"\n"
	    "/defaults/lease: must be a duration like \"250ms\", \"30s\", "
	    "\"5m\", \"24h\" or \"30d\"\n"
	    "/defaults/x: there is no such member\n");
	free(lines);
}

/* --- outcomes --- */

static enum disposition
built_in_outcome(int status)
{
	switch (status) {
	case 301:
	case 307:
	case 308:
	case 401:
	case 403:
		return DISPOSITION_FORGET;
	case 408:
	case 425:
	case 429:
	case 503:
		return DISPOSITION_RELEASE;
	case 502:
	case 504:
		return DISPOSITION_UNKNOWN;
	default:
		return DISPOSITION_STORE;
	}
}

static void
every_status_has_its_built_in_outcome(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(TRY_POLICY(""));
	for (int status = 200; status <= 599; status++)
		assert_int_equal(
		    conf->routes[0].idempotency->outcomes[status],
		    built_in_outcome(status));
	conf_unref(&conf);
}

static void
assert_outcome(const char *defaults, const char *route, int status,
    enum disposition outcome)
{
	char *text = mem_printf(TRY_INHERIT("'outcomes':{%s}",
	    "'outcomes':{%s}"), route, defaults);
	const struct conf *conf = try_conf(text);
	int found = conf->routes[0].idempotency->outcomes[status];
	if (found != (int)outcome)
		print_error("of %d with %s and %s\n", status, defaults, route);
	assert_int_equal(found, outcome);
	conf_unref(&conf);
	free(text);
}

static void
a_status_beats_its_class_in_any_order(void **state)
{
	(void)state;
	const char *one = "'500':'release','5xx':'unknown'";
	const char *two = "'5xx':'unknown','500':'release'";
	assert_outcome("", one, 500, DISPOSITION_RELEASE);
	assert_outcome("", two, 500, DISPOSITION_RELEASE);
	assert_outcome("", one, 501, DISPOSITION_UNKNOWN);
	assert_outcome("", two, 599, DISPOSITION_UNKNOWN);
	assert_outcome("", two, 499, DISPOSITION_STORE);
	assert_outcome(one, "", 500, DISPOSITION_RELEASE);
	assert_outcome("", "'2xx':'release'", 200, DISPOSITION_RELEASE);
	assert_outcome("", "'2xx':'release'", 299, DISPOSITION_RELEASE);
	assert_outcome("", "'2xx':'release'", 300, DISPOSITION_STORE);
}

static void
an_entry_of_a_route_beats_any_default(void **state)
{
	(void)state;
	/* The built-in 503 as well, and by a class too. */
	assert_outcome("", "'503':'unknown'", 503, DISPOSITION_UNKNOWN);
	assert_outcome("", "'5xx':'unknown'", 503, DISPOSITION_UNKNOWN);
	assert_outcome("'5xx':'unknown'", "", 503, DISPOSITION_UNKNOWN);
	assert_outcome("", "'4xx':'store'", 503, DISPOSITION_RELEASE);
	assert_outcome("", "'4xx':'store'", 401, DISPOSITION_STORE);
	assert_outcome(
	    "'4xx':'unknown'", "'404':'forget'", 404, DISPOSITION_FORGET);
	assert_outcome("", "'404':'forget'", 403, DISPOSITION_FORGET);
	/* What `defaults` says for the status, or for its class. */
	assert_outcome("'500':'release'", "'500':'unknown'", 500,
	    DISPOSITION_UNKNOWN);
	assert_outcome("'500':'release'", "'5xx':'unknown'", 500,
	    DISPOSITION_UNKNOWN);
	assert_outcome("'5xx':'release'", "'500':'unknown'", 501,
	    DISPOSITION_RELEASE);
	assert_outcome("'500':'release'", "", 500, DISPOSITION_RELEASE);
	assert_outcome("'500':'release'", "'4xx':'unknown'", 500,
	    DISPOSITION_RELEASE);
}

/* --- what is well, and what a reload does not change --- */

static void
assert_well(const char *text)
{
	const struct conf *conf = try_conf(text);
	assert_non_null(conf);
	conf_unref(&conf);
}

static void
what_may_stand_together_is_accepted(void **state)
{
	(void)state;
	assert_well(TRY_FILE("'workers':1"));
	assert_well(TRY_FILE("'admin':{'listen':'unix:/a','token':'t'}"));
	assert_well(TRY_STORE("'scripting':'function'"));
	assert_well(TRY_STORE("'sentinels':['h:1'],'master':'m'"));
	assert_well(TRY_STORE("'redis':'unix:/r','wait_replicas':1"));
	assert_well(TRY_STORE("'scripting':'script','wait_replicas':0,"
				  "'wait_timeout':'1s','secret':'s',"
				  "'compression':'none','redis':"
				  "'redis://u:p@h:1'"));
	assert_well(TRY_STORE("'cluster':['h:1']"));
	assert_well(TRY_FILE("'cache':{'size':0}"));
	assert_well(TRY_FILE("'cache':{'size':'1MiB'}"));
	assert_well(TRY_INHERIT("'in_flight':'wait'",
		"'on_unknown':'retry','on_store_down':'forward'"));
	assert_well(TRY_POLICY("'on_unknown':{'reconcile':'/{key}'}"));
	assert_well(TRY_POLICY("'in_flight':'reject','on_unknown':'hold',"
				   "'on_store_down':'reject',"
				   "'max_attempts':1"));
	assert_well("{'listen':['unix:/s'],'upstreams':{'u':{'targets':"
			"['http://h','unix:/t'],'ca':'c','certificate':'c',"
			"'key':'k','close_delimited':true}},'routes':[]}");
	setenv("MODE", "reject", 1);
	assert_well(TRY_POLICY("'in_flight':{'env':'MODE'}"));
}

static void
what_a_reload_does_not_change_is_told(void **state)
{
	(void)state;
	struct complaints complaints = {NULL, 0};
	const struct conf *one = try_conf(TRY_FILE(
	    "'workers':2,'store':{'prefix':'p','shards':64},"
	    "'drain_timeout':'1s'"));
	const struct conf *same = try_conf(TRY_FILE(
	    "'drain_timeout':'2s','log':{'level':'debug'},"
	    "'store':{'prefix':'p'},'workers':2,"
	    "'defaults':{'lease':'5s'}"));
	const struct conf *other = try_conf(
	    TRY_FILE("'store':{'prefix':'q','secret':'s'},'workers':2"));
	conf_restart_warn(one, same, &complaints);
	assert_int_equal(complaints.count, 0);
	conf_restart_warn(one, other, &complaints);
	conf_load_place(other, &complaints);
	assert_int_equal(complaints.list[1].column, 115);
	char *lines = try_lines(&complaints);
	assert_string_equal(lines,
	    "/store/prefix: a reload does not change this; restart the "
	    "gateway\n"
	    "/store/secret: a reload does not change this; restart the "
	    "gateway\n");
	free(lines);
	complaints_free(&complaints);
	conf_unref(&one);
	conf_unref(&same);
	conf_unref(&other);
}

/* Whoever it was taken from goes on with the old one until then. */
static void
a_token_that_is_another_one_needs_a_restart(void **state)
{
	(void)state;
	static const char *const files[][2] = {
	    {TRY_FILE("'admin':{'listen':'unix:/s','token':{'env':'TOKEN'}}"),
		"/admin/token"},
	    {TRY_FILE("'admin':{'listen':'unix:/s','tokens':"
		      "{'anna':{'token':{'env':'TOKEN'}}}}"),
		"/admin/tokens"}};
	for (size_t i = 0; i < 2; i++) {
		struct complaints complaints = {NULL, 0};
		setenv("TOKEN", "of-an-admin", 1);
		const struct conf *one = try_conf(files[i][0]);
		const struct conf *same = try_conf(files[i][0]);
		setenv("TOKEN", "of-another", 1);
		const struct conf *other = try_conf(files[i][0]);
		conf_restart_warn(one, same, &complaints);
		assert_int_equal(complaints.count, 0);
		conf_restart_warn(one, other, &complaints);
		assert_int_equal(complaints.count, 1);
		assert_string_equal(complaints.list[0].pointer, files[i][1]);
		complaints_free(&complaints);
		conf_unref(&one);
		conf_unref(&same);
		conf_unref(&other);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_route_starts_from_the_defaults_member_by_member),
	    cmocka_unit_test(a_route_may_take_back_what_the_defaults_say),
	    cmocka_unit_test(what_is_wrong_in_the_defaults_is_said_once),
	    cmocka_unit_test(every_status_has_its_built_in_outcome),
	    cmocka_unit_test(a_status_beats_its_class_in_any_order),
	    cmocka_unit_test(an_entry_of_a_route_beats_any_default),
	    cmocka_unit_test(what_may_stand_together_is_accepted),
	    cmocka_unit_test(what_a_reload_does_not_change_is_told),
	    cmocka_unit_test(a_token_that_is_another_one_needs_a_restart),
	};
	return cmocka_run_group_tests_name("conf_policy", tests, NULL, NULL);
}
