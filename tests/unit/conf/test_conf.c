/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

#include <unistd.h>

enum { SECOND = 1000, HOUR = 3600 * SECOND, DAY = 24 * HOUR };

static const char whole_example[] =
    "{"
    "  'listen': ['0.0.0.0:8080'],"
    "  'store': {'redis': 'redis://127.0.0.1:6379/0'},"
    "  'upstreams': {'payments': 'http://127.0.0.1:9000'},"
    "  'routes': ["
    "    {'name': 'charges', 'methods': ['POST'], 'path': '/v1/charges',"
    "     'upstream': 'payments', 'idempotency': {}},"
    "    {'name': 'rest', 'path': '/*', 'upstream': 'payments'}"
    "  ]"
    "}";

static void
the_example_is_understood(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(whole_example);
	assert_string_equal(conf->file, "test");
	assert_int_equal(conf->n_listen, 1);
	assert_string_equal(conf->listen[0].address.text, "0.0.0.0:8080");
	assert_string_equal(conf->listen[0].address.host, "0.0.0.0");
	assert_int_equal(conf->listen[0].address.port, 8080);
	assert_int_equal(conf->listen[0].address.kind, ADDRESS_TCP);
	assert_null(conf->listen[0].tls.certificate);

	assert_false(conf->store.redis.managed);
	assert_string_equal(conf->store.redis.address.text, "127.0.0.1:6379");
	assert_int_equal(conf->store.redis.db, 0);

	assert_int_equal(conf->n_upstreams, 1);
	const struct conf_upstream *upstream = &conf->upstreams[0];
	assert_string_equal(upstream->name, "payments");
	assert_int_equal(upstream->n_targets, 1);

	assert_int_equal(conf->n_routes, 2);
	const struct conf_route *route = &conf->routes[0];
	assert_string_equal(route->name, "charges");
	assert_int_equal(route->index, 0);
	assert_int_equal(route->methods.count, 1);
	assert_string_equal(route->methods.list[0], "POST");
	assert_string_equal(route->path, "/v1/charges");
	assert_ptr_equal(route->upstream, upstream);
	assert_non_null(route->idempotency);
	route = &conf->routes[1];
	assert_int_equal(route->index, 1);
	assert_int_equal(route->methods.count, 0);
	assert_null(route->idempotency);
	conf_unref(&conf);
	assert_null(conf);
}

/* --- every default of the manual --- */

static void
the_file_has_its_defaults(void **state)
{
	(void)state;
	const struct conf *c = try_conf(TRY_FILE("'log':{}"));
	assert_true(c->workers >= 1);
	assert_string_equal(c->state_dir, LOCALSTATEDIR "/lib/onceproxy");
	assert_int_equal(c->drain_timeout_ms, 30 * SECOND);
	assert_int_equal(c->log_level, CONF_INFO);
	assert_true(c->log_access);
	assert_int_equal(c->max_connections, 10000);
	assert_int_equal(c->max_request_headers, 16 << 10);
	assert_int_equal(c->header_timeout_ms, 10 * SECOND);
	assert_int_equal(c->idle_timeout_ms, 60 * SECOND);
	assert_int_equal(c->in_flight_bytes, 256 << 20);
	assert_null(c->admin.text);
	assert_null(c->admin_token);
	assert_int_equal(c->cache_size, 64 << 20);
	assert_string_equal(c->problem_base, "urn:onceproxy:problem:");
	assert_non_null(c->defaults);

	const struct conf_store *store = &c->store;
	assert_true(store->redis.managed);
	assert_null(store->redis.address.text);
	assert_int_equal(store->redis.cluster.count, 0);
	assert_int_equal(store->redis.sentinels.count, 0);
	assert_null(store->redis.master);
	assert_null(store->redis.user);
	assert_null(store->redis.password);
	assert_string_equal(store->prefix, "onceproxy");
	assert_int_equal(store->redis.timeout_ms, 500);
	assert_int_equal(store->shards, 64);
	assert_false(store->functions);
	assert_int_equal(store->wait_replicas, 0);
	assert_int_equal(store->wait_timeout_ms, 100);
	assert_int_equal(store->events_maxlen, 0);
	assert_null(store->secret);
	assert_false(store->allow_eviction);
	assert_true(store->compression);
	assert_int_equal(store->n_encryption_keys, 0);
	assert_false(store->encryption_strict);
	conf_unref(&c);
}

static void
an_upstream_has_its_defaults(void **state)
{
	(void)state;
	static const char *const forms[] = {
	    "'http://h:1'", "{'targets':['http://h:1']}"};
	for (size_t i = 0; i < 2; i++) {
		char *text = mem_printf(
		    "{" TRY_LISTEN ",'upstreams':{'u':%s},'routes':[]}",
		    forms[i]);
		const struct conf *conf = try_conf(text);
		const struct conf_upstream *u = &conf->upstreams[0];
		assert_int_equal(u->n_targets, 1);
		assert_string_equal(u->targets[0].url, "http://h:1");
		assert_int_equal(u->connect_timeout_ms, 2 * SECOND);
		assert_int_equal(u->timeout_ms, 30 * SECOND);
		assert_int_equal(u->keepalive, 64);
		assert_int_equal(u->reuse, REUSE_SAFE);
		assert_int_equal(u->max_idle_ms, 4 * SECOND);
		assert_false(u->close_delimited);
		assert_int_equal(u->host, HOST_PRESERVE);
		assert_int_equal(u->forwarded, FORWARDED_SET);
		assert_null(u->ca);
		assert_null(u->certificate);
		assert_null(u->key);
		conf_unref(&conf);
		free(text);
	}
}

static void
assert_policy_presets(const struct conf_idempotency *p)
{
	assert_int_equal(p->headers.count, 1);
	assert_string_equal(p->headers.list[0], "Idempotency-Key");
	assert_true(p->required);
	assert_false(p->derive_from_body);
	assert_int_equal(p->derive_from.count, 0);
	assert_int_equal(p->key_format, KEY_ANY);
	assert_int_equal(p->max_length, 255);
	assert_int_equal(p->scope.count, 1);
	assert_string_equal(p->scope.list[0].header, "Authorization");
	assert_string_equal(p->namespace.text, "default");
	assert_int_equal(p->fingerprint_include,
	    FINGERPRINT_METHOD | FINGERPRINT_PATH | FINGERPRINT_QUERY |
		FINGERPRINT_BODY);
	assert_int_equal(p->fingerprint_headers.count, 0);
	assert_false(p->fingerprint_json);
	assert_int_equal(p->fingerprint_ignore.count, 0);
	assert_int_equal(p->retention_ms, 24 * HOUR);
	assert_int_equal(p->unknown_retention_ms, INT64_C(30) * DAY);
	assert_int_equal(p->lease_ms, 15 * SECOND);
	assert_int_equal(p->in_flight, IN_FLIGHT_REJECT);
	assert_int_equal(p->wait_timeout_ms, 10 * SECOND);
	assert_int_equal(p->on_unknown, UNKNOWN_HOLD);
	assert_null(p->reconcile.path.text);
	assert_int_equal(p->max_attempts, 5);
	assert_int_equal(p->on_store_down, STORE_DOWN_REJECT);
	assert_int_equal(p->max_request_body, 1 << 20);
	assert_int_equal(p->max_response_body, 1 << 20);
	assert_int_equal(p->omit_headers.count, 0);
	assert_string_equal(p->replay_header, "Idempotent-Replayed");
	assert_string_equal(p->attempt_header, "Idempotency-Attempt");
}

static void
idempotency_has_its_defaults(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(whole_example);
	assert_policy_presets(conf->defaults);
	assert_policy_presets(conf->routes[0].idempotency);
	conf_unref(&conf);
}

/* --- forms of values --- */

static void
durations_and_sizes_have_units(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t ms;
	} durations[] = {{"250ms", 250}, {"30s", 30000}, {"5m", 300000},
	    {"24h", 86400000}, {"30d", 2592000000}, {"007s", 7000},
	    {"1ms", 1}, {"3650d", 3650 * INT64_C(86400000)}};
	for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
		char *text = mem_printf(
		    TRY_FILE("'drain_timeout':'%s'"), durations[i].text);
		const struct conf *conf = try_conf(text);
		assert_true(conf->drain_timeout_ms == durations[i].ms);
		conf_unref(&conf);
		free(text);
	}
	static const struct {
		const char *text;
		int64_t bytes;
	} sizes[] = {{"'64KiB'", 65536}, {"'1MiB'", 1048576},
	    {"'2GiB'", INT64_C(2) << 30}, {"'1TiB'", INT64_C(1) << 40},
	    {"1000", 1000}, {"0", 0}, {"'0KiB'", 0}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char *text = mem_printf(
		    TRY_FILE("'cache':{'size':%s}"), sizes[i].text);
		const struct conf *conf = try_conf(text);
		assert_true(conf->cache_size == sizes[i].bytes);
		conf_unref(&conf);
		free(text);
	}
}

/* --- strings from elsewhere --- */

static void
write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void
any_string_may_come_from_environment_or_file(void **state)
{
	(void)state;
	char name[] = "/tmp/onceproxy-conf-XXXXXX";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	close(fd);
	write_file(name, "s\xc3\xa9" "cret\n\n");
	char *text = mem_printf(
	    TRY_FILE("'store':{'secret':{'file':'%s'},'timeout':{'env':'T'},"
		     "'compression':{'env':'C'}},'cache':{'size':{'env':'S'}},"
		     "'defaults':{'scope':[{'env':'H'}],"
		     "'outcomes':{'503':{'env':'O'}}}"), name);
	setenv("T", "3s", 1);
	setenv("C", "none", 1);
	setenv("S", "3KiB", 1);
	setenv("H", "X-Tenant", 1);
	setenv("O", "store", 1);
	const struct conf *conf = try_conf(text);
	assert_string_equal(conf->store.secret, "s\xc3\xa9" "cret\n");
	assert_int_equal(conf->store.redis.timeout_ms, 3000);
	assert_false(conf->store.compression);
	assert_int_equal(conf->cache_size, 3072);
	assert_string_equal(conf->defaults->scope.list[0].header, "X-Tenant");
	assert_int_equal(conf->defaults->outcomes[503], DISPOSITION_STORE);
	conf_unref(&conf);

	write_file(name, "");
	char *lines = try_wrong(text);
	assert_string_equal(lines, "/store/secret: must not be empty\n");
	free(lines);
	assert_int_equal(unlink(name), 0);
	free(text);
}

static void
a_file_is_loaded_by_its_name(void **state)
{
	(void)state;
	struct complaints complaints = {NULL, 0};
	char name[] = "/tmp/onceproxy-conf-XXXXXX";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	close(fd);
	char *json = try_json(whole_example);
	write_file(name, json);
	const struct conf *conf = conf_load(name, false, &complaints);
	assert_non_null(conf);
	assert_string_equal(conf->file, name);
	const struct conf *again = conf_ref(conf);
	conf_unref(&conf);
	assert_int_equal(again->n_routes, 2);
	conf_unref(&again);
	free(json);
	assert_int_equal(unlink(name), 0);

	conf = conf_load(name, false, &complaints);
	assert_null(conf);
	assert_int_equal(complaints.count, 1);
	assert_null(complaints.list[0].pointer);
	assert_string_equal(complaints.list[0].message,
	    "cannot be read: No such file or directory");
	complaints_free(&complaints);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_example_is_understood),
	    cmocka_unit_test(the_file_has_its_defaults),
	    cmocka_unit_test(an_upstream_has_its_defaults),
	    cmocka_unit_test(idempotency_has_its_defaults),
	    cmocka_unit_test(durations_and_sizes_have_units),
	    cmocka_unit_test(any_string_may_come_from_environment_or_file),
	    cmocka_unit_test(a_file_is_loaded_by_its_name),
	};
	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
