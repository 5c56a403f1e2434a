/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

#define WORDS_DURATION                                              \
	"must be a duration like \"250ms\", \"30s\", \"5m\", \"24h\" " \
	"or \"30d\""

static void
syntax_errors_have_line_and_column(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {"", "1:1: the file is empty\n"},
	    {"{\n 'listen': [\n  }", "3:3: a value is missing here\n"},
	    {"{'workers': 1,}",
		"1:14: there is a comma too many here, before the }\n"},
	    {"{} x",
		"1:4: the JSON ends before this; is there a closing "
		"bracket too many?\n"},
	    {"{'store': {'password': 'hidden\n'}}",
		"1:24: this string has no closing quote on its line\n"},
	    {"{'workers': 99999999999999999999}",
		"1:13: this number is too large\n"},
	    {"{'instance': 'a\\u0000'}",
		"1:16: no string has a \\u0000\n"},
	    {"{'instance': '\\ud800'}",
		"1:14: this string has half of a character: both escapes "
		"are needed, as in \\ud83d\\ude00\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static void
missing_members_have_their_parents_pointer(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {"[]", "/: must be an object like {\"listen\": ...}\n"},
	    {"{}", "/: \"listen\" is missing\n"
		   "/: \"upstreams\" is missing\n"
		   "/: \"routes\" is missing\n"},
	    {TRY_UPSTREAM("{}"), "/upstreams/u: \"targets\" is missing\n"},
	    {"{" TRY_LISTEN "," TRY_UPSTREAMS ",'routes':[{}]}",
		"/routes/0: \"path\" is missing\n"
		"/routes/0: \"upstream\" is missing\n"},
	    {"{'listen':[{'tls':{}}]," TRY_UPSTREAMS ",'routes':[]}",
		"/listen/0: \"address\" is missing\n"
		"/listen/0/tls: \"certificate\" is missing\n"
		"/listen/0/tls: \"key\" is missing\n"},
	    {TRY_STORE("'events':{}"),
		"/store/events: \"maxlen\" is missing\n"},
	    {TRY_STORE("'encryption_keys':[{}]"),
		"/store/encryption_keys/0: \"id\" is missing\n"
		"/store/encryption_keys/0: \"key\" is missing\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static void
unknown_and_duplicate_members_have_their_pointer(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_POLICY("'ignore':[]"),
		"/routes/0/idempotency/ignore: there is no such member here; "
		"did you mean \"ignore\" in \"fingerprint\"?\n"},
	    {TRY_FILE("'$schema':1"), "/$schema: must be a string\n"},
	    {TRY_STORE("'$schema':'x'"),
		"/store/$schema: there is no such member\n"},
	    {TRY_FILE("'a/b~c':1"), "/a~1b~0c: there is no such member\n"},
	    {TRY_FILE("'log':{'level':'info','file':'x'}"),
		"/log/file: there is no such member\n"},
	    {TRY_STORE("'events':{'maxlen':5,'x':0}"),
		"/store/events/x: there is no such member\n"},
	    {TRY_POLICY("'on_unknown':{'reconcile':'/{key}','x':1}"),
		"/routes/0/idempotency/on_unknown/x: there is no such "
		"member here, only \"witness\" and \"reconcile\", as in "
		"{\"witness\": {\"broker\": NAME}}, or {\"reconcile\": "
		"{\"path\": \"/v1/charges/by-key/{key}\", \"absent\": "
		"[404, 410]}}\n"},
	    {TRY_FILE("'workers':1,'workers':2"),
		"/workers: appears twice (first at 1:84)\n"},
	    {TRY_FILE("'work\\u0065rs':1,'workers':2"),
		"/workers: appears twice (first at 1:84)\n"},
	    {TRY_FILE("'defaults':{'outcomes':{'503':'store', '5xx' : "
		      "'store','503':'release'}}"),
		"/defaults/outcomes/503: appears twice (first at 1:108)\n"},
	    {TRY_UPSTREAM("'http://h','u':'http://i'"),
		"/upstreams/u: appears twice (first at 1:43)\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static void
all_errors_come_in_one_go_in_the_files_order(void **state)
{
	(void)state;
	char *lines = try_wrong("{"
				"'routes': [{'upstream': 'x', 'path': 'y'},"
				"           {'path': '/', 'upstream': 'u', "
				"            'idempotency': {'lease': 1}}],"
				"'workers': -1,"
				"'store': {'cluster': ['a'], 'redis': "
				"          'managed', 'shards': 0},"
				"'nonsense': null,"
				"'upstreams': {'u': 'ftp://x'},"
				"'workers': -1"
				"}");
	assert_string_equal(lines,
	    "/: \"listen\" is missing\n"
	    "/routes/0/upstream: no upstream is named \"x\"; did you mean "
	    "\"u\"?\n"
	    "/routes/0/path: must begin with \"/\"\n"
	    "/routes/1/idempotency/lease: " WORDS_DURATION
	    "; 1 seconds are \"1s\", and milliseconds \"1ms\"\n"
	    "/store/cluster: cannot be combined with \"store.redis\": "
	    "leave one of them out\n"
	    "/store/cluster/0: the port is missing\n"
	    "/store/shards: must be between 1 and 1024\n"
	    "/nonsense: there is no such member\n"
	    "/upstreams/u: must be a URL: http://HOST[:PORT], "
	    "https://HOST[:PORT] or unix:/path\n"
	    "/workers: appears twice (first at 1:128)\n"
	    "/workers: must be between 0 and 256\n");
	free(lines);
}

static void
values_have_their_type_and_range(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_FILE("'workers':1.0"),
		"/workers: must be a whole number, without a point or an "
		"exponent\n"},
	    {TRY_FILE("'workers':null"), "/workers: must be a whole number\n"},
	    {TRY_FILE("'workers':257"),
		"/workers: must be between 0 and 256\n"},
	    {TRY_FILE("'log':{'access':1}"),
		"/log/access: must be true or false\n"},
	    {TRY_FILE("'log':[]"),
		"/log: must be an object like {\"level\": ...}; {} has all "
		"the defaults\n"},
	    {TRY_FILE("'store':'redis://:s3cret@127.0.0.1'"),
		"/store: must be an object like {\"redis\": ...}; "
		"{} has all the defaults\n"},
	    {TRY_FILE("'log':{'level':'INFO'}"),
		"/log/level: must be \"debug\", \"info\", \"warn\" or "
		"\"error\"; did you mean \"info\"?\n"},
	    {TRY_FILE("'log':{'level':1}"),
		"/log/level: must be \"debug\", \"info\", \"warn\" or "
		"\"error\", not 1\n"},
	    {TRY_FILE("'drain_timeout':'1.5s'"),
		"/drain_timeout: must be a duration like \"250ms\", "
		"\"30s\", \"5m\", \"24h\" or \"30d\"\n"},
	    {TRY_FILE("'drain_timeout':'-5s'"),
		"/drain_timeout: " WORDS_DURATION "\n"},
	    {TRY_FILE("'drain_timeout':'s'"),
		"/drain_timeout: " WORDS_DURATION "\n"},
	    {TRY_FILE("'drain_timeout':30000"),
		"/drain_timeout: must be a duration like \"250ms\", "
		"\"30s\", \"5m\", \"24h\" or \"30d\"; 30000 seconds are "
		"\"500m\", and milliseconds \"30s\"\n"},
	    {TRY_FILE("'drain_timeout':'1h30'"),
		"/drain_timeout: " WORDS_DURATION "\n"},
	    {TRY_FILE("'drain_timeout':true"),
		"/drain_timeout: " WORDS_DURATION "\n"},
	    {TRY_FILE("'drain_timeout':[]"),
		"/drain_timeout: " WORDS_DURATION "\n"},
	    {TRY_FILE("'drain_timeout':0.5"),
		"/drain_timeout: must be a duration like \"250ms\", "
		"\"30s\", \"5m\", \"24h\" or \"30d\"\n"},
	    {TRY_FILE("'drain_timeout':'0s'"),
		"/drain_timeout: must be between 1ms and 3650d\n"},
	    {TRY_FILE("'drain_timeout':'3651d'"),
		"/drain_timeout: must be between 1ms and 3650d\n"},
	    {TRY_FILE("'drain_timeout':'99999999999999999999999d'"),
		"/drain_timeout: must be between 1ms and 3650d\n"},
	    {TRY_FILE("'drain_timeout':'9223372036854775807d'"),
		"/drain_timeout: must be between 1ms and 3650d\n"},
	    {TRY_FILE("'cache':{'size':-1}"),
		"/cache/size: must be between 0 and 1TiB\n"},
	    {TRY_FILE("'cache':{'size':'2048'}"),
		"/cache/size: must be a size like \"64KiB\" or \"1MiB\", "
		"or a number of bytes without quotes\n"},
	    {TRY_FILE("'cache':{'size':1.5}"),
		"/cache/size: must be a size like \"64KiB\" or \"1MiB\", "
		"or a number of bytes without quotes\n"},
	    {TRY_FILE("'limits':{'request_headers':0}"),
		"/limits/request_headers: must be between 1 and 64KiB\n"},
	    {TRY_FILE("'limits':{'connections':0}"),
		"/limits/connections: must be between 1 and 1000000\n"},
	    {TRY_UPSTREAM("{'targets':['http://h'],'keepalive':0}"),
		"/upstreams/u/keepalive: must be between 1 and 10000\n"},
	    {TRY_POLICY("'max_attempts':0,'max_length':0,"
			"'max_response_body':0"),
		"/routes/0/idempotency/max_attempts: must be between 1 and "
		"1000000\n"
		"/routes/0/idempotency/max_length: must be between 1 and "
		"1024\n"},
	    {TRY_FILE("'state_dir':''"), "/state_dir: must not be empty\n"},
	    {TRY_FILE("'state_dir':'a\\nb'"),
		"/state_dir: must not contain control characters\n"},
	    {TRY_FILE("'problem_base':'urn: '"),
		"/problem_base: must be the beginning of a URI\n"},
	    {TRY_STORE("'prefix':'a{b}'"),
		"/store/prefix: may contain only letters, digits and . : _ @ / "
		"-\n"},
	    {TRY_STORE("'prefix':''"), "/store/prefix: must not be empty\n"},
	    {TRY_STORE("'secret':''"), "/store/secret: must not be empty\n"},
	    {TRY_STORE("'compression':'gzip'"),
		"/store/compression: must be \"none\" or \"zstd\"\n"},
	    {TRY_STORE("'encryption_keys':[{'id':'a','key':'QUJD'},"
		       "{'id':'a','key':'QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQU"
		       "FBQUFBQUE='}]"),
		"/store/encryption_keys/0/key: key \"a\": must be 32 "
		"bytes in base64\n"
		"/store/encryption_keys/1: key \"a\": another key has this "
		"id\n"},
	    {TRY_STORE("'encryption_strict':true"),
		"/store/encryption_strict: without store.encryption_keys no "
		"answer could be read\n"},
	    {TRY_STORE("'encryption_keys':[{'id':'a b','key':'QUFBQUFBQUFBQUFB"
		       "QUFBQUFBQUFBQUFBQUFBQUFBQUE='}]"),
		"/store/encryption_keys/0/id: key \"a b\": must consist "
		"of 1 to 64 letters, digits and . _ -\n"},
	    {TRY_STORE("'encryption_keys':[]"),
		"/store/encryption_keys: must not be empty\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static void
strings_from_elsewhere_must_be_there(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_STORE("'secret':{'env':'ONCEPROXY_NOT_SET'}"),
		"/store/secret: ONCEPROXY_NOT_SET is not set in the "
		"environment\n"},
	    {TRY_STORE("'secret':{'file':'/nowhere/secret'}"),
		"/store/secret: /nowhere/secret cannot be read: No such file "
		"or directory\n"},
	    {TRY_STORE("'secret':{'env':'A','file':'B'}"),
		"/store/secret: must be a string, {\"env\": NAME} or "
		"{\"file\": PATH}\n"},
	    {TRY_STORE("'secret':{'env':1}"),
		"/store/secret: must be a string, {\"env\": NAME} or "
		"{\"file\": PATH}\n"},
	    {TRY_STORE("'secret':7"), "/store/secret: must be a string\n"},
	    {TRY_STORE("'secret':{'file':'/dev/zero'}"),
		"/store/secret: /dev/zero cannot be read: File too large\n"},
	    {"{'listen':[{'env':'ONCEPROXY_NOT_SET'}]," TRY_UPSTREAMS
	     ",'routes':[]}",
		"/listen/0: ONCEPROXY_NOT_SET is not set in the "
		"environment\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static void
secrets_are_never_repeated(void **state)
{
	(void)state;
	static const char *const list[] = {
	    TRY_STORE("'redis':'redis://me:hidden@h:99999'"),
	    TRY_STORE("'redis':'hidden'"),
	    TRY_STORE("'password':['hidden']"),
	    TRY_STORE("'encryption_keys':[{'id':'i','key':'hidden'}]"),
	    "{'store':{'password':'hidden\\x'}}",
	    "{'store':{'password':hidden}}",
	    "{'store':{'password' 'hidden'}}",
	};
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		char *lines = try_wrong(list[i]);
		assert_string_not_equal(lines, "");
		assert_null(strstr(lines, "hidden"));
		free(lines);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(syntax_errors_have_line_and_column),
	    cmocka_unit_test(missing_members_have_their_parents_pointer),
	    cmocka_unit_test(unknown_and_duplicate_members_have_their_pointer),
	    cmocka_unit_test(all_errors_come_in_one_go_in_the_files_order),
	    cmocka_unit_test(values_have_their_type_and_range),
	    cmocka_unit_test(strings_from_elsewhere_must_be_there),
	    cmocka_unit_test(secrets_are_never_repeated),
	};
	return cmocka_run_group_tests_name("conf_wrong", tests, NULL, NULL);
}
