/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

static void
addresses_have_their_forms(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(
	    "{'listen':['localhost:0','[::1]:80','unix:/run/x',"
	    "{'address':'a_b.example:65535'},{'address':{'env':'PORT'}},"
	    "{'env':'PORT'}]," TRY_UPSTREAMS ",'routes':[]}");
	assert_int_equal(conf->n_listen, 6);
	assert_string_equal(conf->listen[0].address.host, "localhost");
	assert_int_equal(conf->listen[0].address.port, 0);
	assert_string_equal(conf->listen[1].address.host, "::1");
	assert_string_equal(conf->listen[1].address.text, "[::1]:80");
	assert_int_equal(conf->listen[2].address.kind, ADDRESS_UNIX);
	assert_string_equal(conf->listen[2].address.host, "/run/x");
	assert_int_equal(conf->listen[3].address.port, 65535);
	assert_string_equal(conf->listen[4].address.text, "h:0");
	assert_string_equal(conf->listen[5].address.text, "h:0");
	conf_unref(&conf);

	static const char *const local[] = {
	    "127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "LOCALHOST:1", "unix:/s"};
	for (size_t i = 0; i < sizeof local / sizeof *local; i++) {
		char *text =
		    mem_printf(TRY_FILE("'admin':{'listen':'%s'}"), local[i]);
		conf = try_conf(text);
		assert_string_equal(conf->admin.text, local[i]);
		conf_unref(&conf);
		free(text);
	}
}

static void
redis_has_its_forms(void **state)
{
	(void)state;
	static const struct {
		const char *members;
		bool managed;
		enum address_kind kind;
		const char *text;
		int64_t db;
		const char *user;
		const char *password;
	} forms[] = {
	    {"'redis':'managed'", true, ADDRESS_TCP, NULL, 0, NULL, NULL},
	    {"'redis':'redis://h:1'", false, ADDRESS_TCP, "h:1", 0, NULL,
		NULL},
	    {"'redis':'redis://h'", false, ADDRESS_TCP, "h:6379", 0, NULL,
		NULL},
	    {"'redis':'redis://[::1]:7/3'", false, ADDRESS_TCP, "[::1]:7", 3,
		NULL, NULL},
	    {"'redis':'redis://h:1/'", false, ADDRESS_TCP, "h:1", 0, NULL,
		NULL},
	    {"'redis':'redis://me:p%40%3a%2F%40x@h:1/2'", false, ADDRESS_TCP,
		"h:1", 2, "me", "p@:/@x"},
	    {"'redis':'redis://:p@h:1'", false, ADDRESS_TCP, "h:1", 0, NULL,
		"p"},
	    {"'redis':'redis://me@h:1','password':'q'", false, ADDRESS_TCP,
		"h:1", 0, "me", "q"},
	    {"'redis':'unix:/run/r'", false, ADDRESS_UNIX, "unix:/run/r", 0,
		NULL, NULL},
	    {"'redis':'unix:/run/r?db=15'", false, ADDRESS_UNIX,
		"unix:/run/r", 15, NULL, NULL},
	    {"'password':'q','redis':'unix:/run/r','user':'me'", false,
		ADDRESS_UNIX, "unix:/run/r", 0, "me", "q"},
	    {"'cluster':['h:1']", false, ADDRESS_TCP, NULL, 0, NULL, NULL},
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		char *text = mem_printf(TRY_STORE("%s"), forms[i].members);
		const struct conf *conf = try_conf(text);
		const struct conf_store *store = &conf->store;
		const char *user = forms[i].user ? forms[i].user : "";
		const char *password =
		    forms[i].password ? forms[i].password : "";
		const char *address = forms[i].text ? forms[i].text : "";
		assert_int_equal(store->redis.managed, forms[i].managed);
		assert_int_equal(store->redis.address.kind, forms[i].kind);
		assert_string_equal(
		    store->redis.address.text ? store->redis.address.text : "",
		    address);
		assert_int_equal(store->redis.db, forms[i].db);
		assert_string_equal(
		    store->redis.user ? store->redis.user : "", user);
		assert_string_equal(
		    store->redis.password ? store->redis.password : "",
		    password);
		conf_unref(&conf);
		free(text);
	}
}

static void
targets_have_their_forms(void **state)
{
	(void)state;
	static const struct {
		const char *url;
		bool tls;
		const char *host;
		int port;
		const char *authority;
		const char *base_path;
	} forms[] = {
	    {"http://h", false, "h", 80, "h", ""},
	    {"http://h:80/", false, "h", 80, "h", ""},
	    {"https://h", true, "h", 443, "h", ""},
	    {"HTTPS://h:80", true, "h", 80, "h:80", ""},
	    {"http://10.0.0.1:9000/api/v1/", false, "10.0.0.1", 9000,
		"10.0.0.1:9000", "/api/v1"},
	    {"http://[::1]", false, "::1", 80, "[::1]", ""},
	    {"http://[::1]:81/a%20b", false, "::1", 81, "[::1]:81",
		"/a%20b"},
	    {"unix:/run/up", false, "localhost", 0, "localhost", ""},
	};
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		char *text = mem_printf(
		    "{" TRY_LISTEN ",'upstreams':{'u':{'targets':"
		    "['http://first','%s']}},'routes':[]}", forms[i].url);
		const struct conf *conf = try_conf(text);
		assert_int_equal(conf->upstreams[0].n_targets, 2);
		const struct conf_target *t = &conf->upstreams[0].targets[1];
		assert_string_equal(t->url, forms[i].url);
		assert_int_equal(t->tls, forms[i].tls);
		assert_string_equal(t->host, forms[i].host);
		assert_int_equal(t->port, forms[i].port);
		assert_string_equal(t->authority, forms[i].authority);
		assert_string_equal(t->base_path, forms[i].base_path);
		assert_int_equal(
		    t->unix_path != NULL, !strncmp(t->url, "unix:", 5));
		conf_unref(&conf);
		free(text);
	}
}

#define LISTEN(value) "{'listen':[" value "]," TRY_UPSTREAMS ",'routes':[]}"
#define ENCODED "write the password percent-encoded: \"@\" is %40, " \
	"\"#\" is %23, \"/\" is %2F, \"?\" is %3F\n"
#define WORDS_HOST "the host must be a name or an IP address\n"

static void
addresses_are_checked(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {LISTEN(""), "/listen: must not be empty\n"},
	    {LISTEN("':http'"),
		"/listen/0: the port must be between 0 and 65535\n"},
	    {LISTEN("':'"), "/listen/0: the port must be between 0 and "
			    "65535\n"},
	    {LISTEN("'[::g]:80'"), "/listen/0: " WORDS_HOST},
	    {LISTEN("'127.0.0.256:80'"), "/listen/0: " WORDS_HOST},
	    {LISTEN("'a b:80'"), "/listen/0: " WORDS_HOST},
	    {LISTEN("'[::1:80'"), "/listen/0: the bracket is not closed\n"},
	    {LISTEN("'[::1]80'"),
		"/listen/0: only a port may follow the bracket\n"},
	    {LISTEN("'[::1]'"), "/listen/0: the port is missing\n"},
	    {LISTEN("'h:65536'"),
		"/listen/0: the port must be between 0 and 65535\n"},
	    {LISTEN("'h:'"),
		"/listen/0: the port must be between 0 and 65535\n"},
	    {LISTEN("'h:1:2'"),
		"/listen/0: the port must be between 0 and 65535\n"},
	    {LISTEN("'unix:x'"),
		"/listen/0: a Unix socket is \"unix:/path\", shorter than "
		"108 bytes\n"},
	    {LISTEN("'h:1','h:2','h:1','h:0','h:0','h:1'"),
		"/listen/2: this address appears twice (first at "
		"/listen/0)\n"
		"/listen/5: this address appears twice (first at "
		"/listen/0)\n"},
	    {TRY_FILE("'admin':{'listen':'unix:/a','tokens':{'sweep':'t'}}"),
		"/admin/tokens/sweep: its name stands in history for a retry, "
		"or for the gateway itself\n"},
	    {TRY_FILE("'admin':{'listen':'127.evil:9090'}"),
		"/admin/listen: others can reach this address: "
		"\"admin.token\" is needed\n"},
	    {TRY_FILE("'admin':{'listen':'0.0.0.0:9090','tokens':{}}"),
		"/admin/listen: others can reach this address: "
		"\"admin.token\" is needed\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static void
ways_to_redis_are_checked(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_STORE("'redis':'redis://me@h:1'"),
		"/store/redis: a user needs a password: "
		"redis://USER:PASSWORD@HOST, or the member "
		"\"store.password\"\n"},
	    {TRY_STORE("'redis':'redis://@h:1'"),
		"/store/redis: there is no user before the @\n"},
	    {TRY_STORE("'redis':'redis://m%4@h:1'"),
		"/store/redis: user and password must be percent-encoded\n"},
	    {TRY_STORE("'redis':'redis://me@h:1','user':'u','password':'p'"),
		"/store/user: \"store.redis\" already has a user: leave one "
		"of them out\n"},
	    {TRY_STORE("'redis':'redis://me:%zz@h:1'"),
		"/store/redis: user and password must be percent-encoded\n"},
	    {TRY_STORE("'redis':'redis://me:a%00@h:1'"),
		"/store/redis: user and password must be percent-encoded\n"},
	    {TRY_STORE("'redis':'redis://me:a%4'"),
		"/store/redis: the port must be between 1 and 65535\n"},
	    {TRY_STORE("'redis':'redis://me:%4@h:1'"),
		"/store/redis: user and password must be percent-encoded\n"},
	    {TRY_STORE("'redis':'redis://me:@h:1'"),
		"/store/redis: the password is empty\n"},
	    {TRY_STORE("'redis':'redis://h:0'"),
		"/store/redis: the port must be between 1 and 65535\n"},
	    {TRY_STORE("'redis':'redis://h:1/x'"),
		"/store/redis: only a number from 0 to 65535 may follow the "
		"address\n"},
	    {TRY_STORE("'redis':'redis://h:1/70000'"),
		"/store/redis: only a number from 0 to 65535 may follow the "
		"address\n"},
	    {TRY_STORE("'redis':'redis://:p#ss@h'"),
		"/store/redis: " ENCODED},
	    {TRY_STORE("'redis':'redis://u:p/ss@h'"),
		"/store/redis: " ENCODED},
	    {TRY_STORE("'redis':'redis://:p@ss@h'"),
		"/store/redis: " ENCODED},
	    {TRY_STORE("'redis':'unix:/s?db='"),
		"/store/redis: only ?db= and a number from 0 to 65535 may "
		"follow the path\n"},
	    {TRY_STORE("'redis':'unix:s'"),
		"/store/redis: a Unix socket is \"unix:/path\", shorter "
		"than 108 bytes\n"},
	    {TRY_STORE("'cluster':['h:1'],'sentinels':['h:1'],'master':'m'"),
		"/store/sentinels: cannot be combined with "
		"\"store.cluster\": leave one of them out\n"
		"/store/master: cannot be combined with "
		"\"store.cluster\": leave one of them out\n"},
	    {TRY_STORE("'redis':'redis://h','sentinels':['h:1']"),
		"/store/sentinels: cannot be combined with "
		"\"store.redis\": leave one of them out\n"},
	    {TRY_STORE("'redis':'redis://h','master':'m'"),
		"/store/master: cannot be combined with \"store.redis\": "
		"leave one of them out\n"},
	    {TRY_STORE("'master':'m'"),
		"/store/master: \"store.sentinels\" is needed too\n"},
	    {TRY_STORE("'cluster':[]"), "/store/cluster: must not be empty\n"},
	    {TRY_STORE("'cluster':['unix:/s','h:0','h:1','H:1',':x',"
		       "'h:99999']"),
		"/store/cluster/0: must be HOST:PORT\n"
		"/store/cluster/1: the port must be between 1 and 65535\n"
		"/store/cluster/3: appears twice\n"
		"/store/cluster/4: the port must be between 1 and 65535\n"
		"/store/cluster/5: the port must be between 1 and 65535\n"},
	    {TRY_STORE("'password':'p'"),
		"/store/password: the managed Redis takes no user or "
		"password\n"},
	    {TRY_STORE("'redis':'redis://u:p@h:1','user':'v'"),
		"/store/user: \"store.redis\" already has a password: "
		"leave this out\n"},
	    {TRY_STORE("'redis':'redis://u@h:1','user':'v'"),
		"/store/user: \"store.redis\" already has a user: leave one "
		"of them out\n"},
	    {TRY_STORE("'redis':'redis://h:1','user':'q'"),
		"/store/user: \"store.password\" is needed too\n"},
	    {TRY_STORE("'wait_replicas':1"),
		"/store/wait_replicas: the managed Redis has no replicas\n"},
	};
	ASSERT_ALL_WRONG(list);
}

#define TARGET(url) TRY_UPSTREAM("{'targets':['" url "']}")

static void
upstreams_are_checked(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_UPSTREAM("1"),
		"/upstreams/u: must be a string or an object\n"},
	    {TRY_UPSTREAM("{'targets':7}"),
		"/upstreams/u/targets: must be a list of URLs like "
		"[\"http://127.0.0.1:9000\"]\n"},
	    {TRY_UPSTREAM("{'targets':[]}"),
		"/upstreams/u/targets: must not be empty\n"},
	    {TARGET("uniX:80"),
		"/upstreams/u/targets/0: must be a URL: "
		"http://HOST[:PORT], https://HOST[:PORT] or unix:/path\n"},
	    {TARGET("http://"), "/upstreams/u/targets/0: " WORDS_HOST},
	    {TARGET("http://h?y"),
		"/upstreams/u/targets/0: an upstream's URL must not have a "
		"query\n"},
	    {TARGET("http://h/x#y"),
		"/upstreams/u/targets/0: must consist of visible ASCII without "
		"\"#\" and \"\\\"\n"},
	    {TARGET("http://h/a/../b"),
		"/upstreams/u/targets/0: must not have \".\" or \"..\" as a "
		"segment\n"},
	    {TARGET("http://h\\r\\nX"), "/upstreams/u/targets/0: " WORDS_HOST},
	    {TARGET("http://h/\\r\\nX"),
		"/upstreams/u/targets/0: must consist of visible ASCII without "
		"\"#\" and \"\\\"\n"},
	    {TRY_UPSTREAM("{'targets':['https://h'],'certificate':'c'}"),
		"/upstreams/u/certificate: \"key\" is needed too\n"},
	    {TRY_UPSTREAM("{'targets':['https://h'],'key':'k'}"),
		"/upstreams/u/key: \"certificate\" is needed too\n"},
	    {"{" TRY_LISTEN ",'upstreams':{'':'http://h'},'routes':[]}",
		"/upstreams/: its name must not be empty\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static int
set_environment(void **state)
{
	(void)state;
	return setenv("PORT", "h:0", 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(addresses_have_their_forms),
	    cmocka_unit_test(redis_has_its_forms),
	    cmocka_unit_test(targets_have_their_forms),
	    cmocka_unit_test(addresses_are_checked),
	    cmocka_unit_test(ways_to_redis_are_checked),
	    cmocka_unit_test(upstreams_are_checked),
	};
	return cmocka_run_group_tests_name(
	    "conf_address", tests, set_environment, NULL);
}
