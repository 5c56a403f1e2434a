/* SPDX-License-Identifier: BSD-2-Clause */
#include "doctor_try.h"

/*
 * What doctor says of a Redis, by what it says of itself.  That a real one is
 * asked, and answers so, is shown by blackbox/test_doctor.py, as far as one
 * here does.
 */
struct row {
	const char *shows;
	const char *store; /* members of the file's store; NULL: a socket */
	/* What INFO says before the usual; NULL: it may not be asked. */
	const char *info;
	struct diagnostics seen;
	struct verdict verdict;
};

#define SOCKET "'redis':'unix:/run/r'"
#define CLI "redis-cli -s /run/r "
#define SEEN .how = REDIS_SEEN

/* clang-format off */
static const struct row what_it_is[] = {
	{"one of version 7", NULL, "", {SEEN},
	    {FINDING_redis_old, LEVEL_OK, NULL, "this is Redis 7.0.15", NULL}},
	{"an old one", NULL, "redis_version:6.2.14\r\n", {SEEN},
	    {FINDING_redis_old, LEVEL_FAIL, "/store/redis",
		"this is Redis 6.2.14, and the scripts need features that came "
		"with 7.0", "upgrade it to 7.0 or later"}},
	{"a replica", NULL, "role:slave\r\nmaster_host:10.0.0.1\r\n"
	    "master_port:6379\r\n", {SEEN, .refused = T("READONLY x")},
	    {FINDING_redis_replica, LEVEL_FAIL, "/store/redis",
		"this Redis is a replica of 10.0.0.1:6379, and takes no claims",
		"name the master in store.redis, or make this one the master: "
		CLI "REPLICAOF NO ONE"}},
	{"one that refuses writes", NULL, "", {SEEN,
		.refused = T("OOM command not allowed")},
	    {FINDING_writes, LEVEL_FAIL, "/store/redis",
		"Redis refuses writes, so no key can be claimed: OOM command "
		"not allowed",
		"MISCONF: fix its disk, then " CLI "BGSAVE; OOM: raise "
		"maxmemory; NOREPLICAS: start its replicas again"}},
	{"one of which INFO may not be asked", NULL, NULL, {SEEN},
	    {FINDING_eviction, LEVEL_SKIP, NULL,
		"not checked: this Redis user may not run INFO", NULL}},
};

static const struct row what_it_forgets[] = {
	{"a limit without eviction", NULL, "maxmemory:1000000\r\n", {SEEN},
	    {FINDING_eviction, LEVEL_OK, NULL, "Redis evicts nothing", NULL}},
	{"a policy without a limit", NULL, "maxmemory_policy:allkeys-lru\r\n",
	    {SEEN},
	    {FINDING_eviction, LEVEL_OK, NULL, "Redis evicts nothing", NULL}},
	{"eviction", NULL, "maxmemory:1000000\r\n"
	    "maxmemory_policy:allkeys-lru\r\n", {SEEN},
	    {FINDING_eviction, LEVEL_FAIL, "/store/redis",
		"Redis may evict records, and a forgotten claim lets a payment "
		"be made twice: maxmemory-policy is allkeys-lru",
		CLI "CONFIG SET maxmemory-policy noeviction, and the same in "
		"redis.conf"}},
	{"eviction that is allowed", SOCKET ",'allow_eviction':true",
	    "maxmemory:1000000\r\nmaxmemory_policy:volatile-ttl\r\n", {SEEN},
	    {FINDING_eviction_allowed, LEVEL_WARN, "/store/allow_eviction",
		"Redis may evict records, and store.allow_eviction permits it: "
		"maxmemory-policy is volatile-ttl",
		CLI "CONFIG SET maxmemory-policy noeviction, and set "
		"store.allow_eviction to false"}},
	{"no append-only file", NULL, "aof_enabled:0\r\n", {SEEN},
	    {FINDING_persistence, LEVEL_FAIL, "/store/redis",
		"Redis keeps no append-only file: a restart forgets claims, "
		"and their payments may be made again",
		CLI "CONFIG SET appendonly yes, and the same in redis.conf"}},
	{"a sync of what is always synced", NULL, "", {SEEN,
		.appendfsync = T("always")},
	    {FINDING_appendfsync, LEVEL_OK, NULL,
		"Redis syncs what it acknowledges", NULL}},
	{"a sync every second", NULL, "", {SEEN, .appendfsync = T("everysec")},
	    {FINDING_appendfsync, LEVEL_WARN, "/store/redis",
		"appendfsync is everysec: a crash may forget the claims of the "
		"last seconds",
		CLI "CONFIG SET appendfsync always, and the same in "
		"redis.conf"}},
	{"a sync that may not be asked for", NULL, "", {SEEN},
	    {FINDING_appendfsync, LEVEL_SKIP, NULL, "not checked: this Redis "
		"user may not run CONFIG GET appendfsync", NULL}},
};

static const struct row replicas[] = {
	{"none, on a socket alone", NULL, "connected_slaves:0\r\n", {SEEN},
	    {FINDING_no_replica, LEVEL_WARN, "/store/redis",
		"this Redis has no replica: if its machine is lost, so are its "
		"records", "start another redis-server with: replicaof "
		"HOST-OF-THIS-ONE PORT-OF-THIS-ONE"}},
	{"none, on a socket and a port", NULL,
	    "connected_slaves:0\r\ntcp_port:6380\r\n", {SEEN},
	    {FINDING_no_replica, LEVEL_WARN, "/store/redis",
		"this Redis has no replica: if its machine is lost, so are its "
		"records", "start another redis-server with: replicaof "
		"HOST-OF-THIS-ONE 6380"}},
	{"none, with a password and TLS",
	    "'redis':'rediss://h:6380','password':'p'",
	    "connected_slaves:0\r\n", {SEEN},
	    {FINDING_no_replica, LEVEL_WARN, "/store/redis",
		"this Redis has no replica: if its machine is lost, so are its "
		"records", "start another redis-server with: replicaof h 6380 "
		"and tls-replication yes and masterauth PASSWORD"}},
	{"as many as claims wait for", SOCKET ",'wait_replicas':1", "", {SEEN},
	    {FINDING_replicas_few, LEVEL_OK, NULL, "there are as many replicas "
		"as store.wait_replicas asks for", NULL}},
	{"fewer than claims wait for", SOCKET ",'wait_replicas':2", "", {SEEN},
	    {FINDING_replicas_few, LEVEL_FAIL, "/store/wait_replicas",
		"store.wait_replicas is more than the number of replicas: 1 of "
		"2", "start replicas with replicaof, or lower "
		"store.wait_replicas"}},
};

static const struct row room_and_time[] = {
	{"a fifth that is left", NULL, "maxmemory:1000\r\nused_memory:800\r\n",
	    {SEEN}, {FINDING_memory, LEVEL_OK, NULL,
		"Redis has memory to spare", NULL}},
	{"less than a fifth that is left", NULL,
	    "maxmemory:1000\r\nused_memory:801\r\n", {SEEN},
	    {FINDING_memory, LEVEL_WARN, "/store/redis",
		"less than a fifth of maxmemory is left; when it is full, new "
		"claims get 503: 801 of 1000 bytes are used",
		CLI "CONFIG SET maxmemory 1602, and the same in redis.conf, or "
		"shorten the retention of routes"}},
	{"clocks that agree nearly", NULL, "", {SEEN, .clock_known = true,
		.apart_ms = -999},
	    {FINDING_clocks, LEVEL_OK, NULL, "the clocks agree", NULL}},
	{"a clock that is ahead", NULL, "", {SEEN, .clock_known = true,
		.apart_ms = 90049},
	    {FINDING_clocks, LEVEL_WARN, "/store/redis",
		"the clock of Redis differs from this machine's: 90.0 s ahead",
		"synchronise both with NTP (timedatectl set-ntp true); Redis' "
		"clock decides leases and retention, this machine's is the one "
		"in the log"}},
	{"a clock that is behind", NULL, "", {SEEN, .clock_known = true,
		.apart_ms = -1000},
	    {FINDING_clocks, LEVEL_WARN, "/store/redis",
		"the clock of Redis differs from this machine's: 1.0 s behind",
		"synchronise both with NTP (timedatectl set-ntp true); Redis' "
		"clock decides leases and retention, this machine's is the one "
		"in the log"}},
	{"a clock that may not be asked", NULL, "", {SEEN},
	    {FINDING_clocks, LEVEL_SKIP, NULL,
		"not checked: this Redis user may not run TIME", NULL}},
};

static const struct row what_lies_there[] = {
	{"records that were not counted", NULL, "", {SEEN, .unknown = 2},
	    {FINDING_records_unknown, LEVEL_SKIP, NULL,
		"not checked: the records could not be counted", NULL}},
	{"unknown outcomes", NULL, "", {SEEN, .counted = true, .unknown = 2},
	    {FINDING_records_unknown, LEVEL_WARN, NULL,
		"keys are held because nobody knows what became of their "
		"requests: 2", "ask the API about each, then release or "
		"complete it: onceproxy keys list --state UNKNOWN -c test"}},
	{"keys that have failed", NULL, "", {SEEN, .counted = true,
		.failed = 1},
	    {FINDING_records_failed, LEVEL_WARN, NULL,
		"keys have used up all their attempts: 1",
		"look at each, then release or complete it: onceproxy keys "
		"list --state FAILED -c test"}},
	{"other libraries", SOCKET ",'scripting':'function'", "", {SEEN,
		.libraries = T("onceproxy_0, onceproxy_1")},
	    {FINDING_old_libraries, LEVEL_WARN, "/store/scripting",
		"function libraries of other versions: onceproxy_0, "
		"onceproxy_1", "once no gateway of such a version is running "
		"any more: " CLI "FUNCTION DELETE onceproxy_0"}},
	{"no functions", SOCKET ",'scripting':'script'", "", {SEEN},
	    {FINDING_old_libraries, LEVEL_OK, NULL,
		"store.scripting needs no functions", NULL}},
	{"keys that may not be listed", NULL, "", {SEEN, .foreign = 1,
		.foreign_name = T("x")},
	    {FINDING_foreign_keys, LEVEL_SKIP, NULL,
		"not checked: this Redis user may not run SCAN", NULL}},
	{"foreign keys", NULL, "", {SEEN, .scanned = true, .foreign = 3,
		.foreign_name = T("onceproxy:it's")},
	    {FINDING_foreign_keys, LEVEL_WARN, "/store/prefix",
		"keys under store.prefix that a gateway of this version, with "
		"this store.shards, cannot find: 3, such as onceproxy:it's",
		"set store.shards back to what it was, or choose a "
		"store.prefix that nobody else uses; see one: " CLI
		"TYPE 'onceproxy:it'\\''s'"}},
	{"locked answers", NULL, "", {SEEN, .scanned = true, .locked = 3,
		.locked_id = T("A")},
	    {FINDING_encryption_keys, LEVEL_FAIL, "/store/encryption_keys",
		"stored answers are encrypted with keys that "
		"store.encryption_keys does not have, and their retries get "
		"500: 3, for example with \"A\"",
		"add this key after the others on all gateways, and restart "
		"them: {\"id\": \"A\", \"key\": {\"file\": FILE}}"}},
	{"plain answers", SOCKET ",'encryption_keys':[{'id':'A','key':"
	    "'QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE='}]", "",
	    {SEEN, .scanned = true, .plain = 1},
	    {FINDING_plain_answers, LEVEL_WARN, "/store/encryption_keys",
		"stored answers that are not encrypted, though "
		"store.encryption_keys is set: 1",
		"they go with their retention; once none is left, set "
		"store.encryption_strict, and nobody can put an answer of "
		"their own there"}},
	{"plain answers where no others are wanted", NULL, "", {SEEN,
		.scanned = true, .plain = 1},
	    {FINDING_plain_answers, LEVEL_OK, NULL,
		"store.encryption_keys is not set", NULL}},
};

static const struct row coming_in[] = {
	{"silence", NULL, NULL, {.message = T("Connection refused")},
	    {FINDING_redis_unreachable, LEVEL_FAIL, "/store/redis",
		"Redis does not answer: Connection refused",
		"start it, and check that store.redis, store.timeout and "
		"firewalls let the gateway connect to unix:/run/r"}},
	{"a certificate of a stranger", "'redis':'rediss://h'", NULL,
	    {.message = T("The certificate is NOT trusted")},
	    {FINDING_redis_unreachable, LEVEL_FAIL, "/store/redis",
		"Redis does not answer: The certificate is NOT trusted",
		"start it, and check that store.redis, store.timeout and "
		"firewalls let the gateway connect to h:6379; or name in "
		"store.tls the authority that issued its certificate (ca), or "
		"the name that this has (server_name)"}},
	{"no TLS", "'redis':'rediss://h'", NULL,
	    {.message = T("TLS: unexpected packet")},
	    {FINDING_redis_unreachable, LEVEL_FAIL, "/store/redis",
		"Redis does not answer: TLS: unexpected packet",
		"start it, and check that store.redis, store.timeout and "
		"firewalls let the gateway connect to h:6379; or, if it speaks "
		"no TLS, write redis:// instead of rediss://"}},
	{"TLS", "'redis':'redis://h'", NULL,
	    {.message = T("Connection reset by peer")},
	    {FINDING_redis_unreachable, LEVEL_FAIL, "/store/redis",
		"Redis does not answer: Connection reset by peer",
		"start it, and check that store.redis, store.timeout and "
		"firewalls let the gateway connect to h:6379; or, if it speaks "
		"TLS, say so: rediss:// instead of redis://, or store.tls"}},
	{"another program", "'redis':'redis://h'", NULL,
	    {.message = T("Protocol error, got \"H\"")},
	    {FINDING_redis_unreachable, LEVEL_FAIL, "/store/redis",
		"Redis does not answer: Protocol error, got \"H\"",
		"start it, and check that store.redis, store.timeout and "
		"firewalls let the gateway connect to h:6379; what answers "
		"there now is another program than Redis, so it is perhaps the "
		"wrong port"}},
	{"a database that it does not have", "'redis':'unix:/run/r?db=99'",
	    NULL, {.how = REDIS_NO_DATABASE, .message = T("ERR DB index")},
	    {FINDING_redis_database, LEVEL_FAIL, "/store/redis",
		"Redis does not select the database 99: ERR DB index",
		"name one below its `databases` (CONFIG GET databases) at the "
		"end of the URL"}},
};

#define CLUSTER "'cluster':['h:1']"
static const struct row masters[] = {
	{"a replica for a master", CLUSTER, "", {SEEN, .place = T("h:1")},
	    {FINDING_cluster_replica, LEVEL_OK, NULL,
		"each master of the cluster has a replica", NULL}},
	{"a master without one", CLUSTER, "connected_slaves:0\r\n",
	    {SEEN, .place = T("h:1")},
	    {FINDING_cluster_replica, LEVEL_WARN, "/store/cluster",
		"h:1: this master has no replica: while it is gone, its keys "
		"get 503, and if its machine is lost, so are its records",
		"redis-cli --cluster add-node NEW-HOST:PORT h:1 "
		"--cluster-slave"}},
	{"a cluster that is down", CLUSTER, "", {SEEN, .place = T("h:1"),
		.cluster_fails = true},
	    {FINDING_cluster_fails, LEVEL_FAIL, "/store/cluster",
		"h:1: the cluster reports that it is down",
		"bring back the masters that are gone, or promote their "
		"replicas (CLUSTER FAILOVER TAKEOVER); see redis-cli --cluster "
		"check h:1"}},
	{"one that serves as a whole or not at all", CLUSTER, "", {SEEN,
		.place = T("h:1"), .coverage = T("yes")},
	    {FINDING_cluster_coverage, LEVEL_WARN, "/store/cluster",
		"h:1: cluster-require-full-coverage is yes: while one master "
		"is gone, the keys of all others get 503 too",
		"redis-cli --cluster call h:1 CONFIG SET "
		"cluster-require-full-coverage no, and the same in "
		"redis.conf"}},
	{"one that serves what it can", CLUSTER, "", {SEEN, .place = T("h:1"),
		.coverage = T("no")},
	    {FINDING_cluster_coverage, LEVEL_OK, NULL, "a dead master affects "
		"only its own keys, or there is no cluster", NULL}},
	{"eviction by one master", CLUSTER,
	    "maxmemory:1\r\nused_memory:0\r\nmaxmemory_policy:allkeys-lru\r\n",
	    {SEEN, .place = T("h:1")},
	    {FINDING_eviction, LEVEL_FAIL, "/store/cluster",
		"h:1: Redis may evict records, and a forgotten claim lets a "
		"payment be made twice: maxmemory-policy is allkeys-lru",
		"redis-cli -h h -p 1 CONFIG SET maxmemory-policy noeviction, "
		"and the same in redis.conf"}},
};

static const struct row leading_there[] = {
	{"to a port", "'redis':'redis://h:7/3'", "aof_enabled:0\r\n", {SEEN},
	    {FINDING_persistence, LEVEL_FAIL, "/store/redis",
		"Redis keeps no append-only file: a restart forgets claims, "
		"and their payments may be made again",
		"redis-cli -h h -p 7 -n 3 CONFIG SET appendonly yes, and the "
		"same in redis.conf"}},
	{"with a password", SOCKET ",'password':'s3cret'",
	    "aof_enabled:0\r\n", {SEEN},
	    {FINDING_persistence, LEVEL_FAIL, "/store/redis",
		"Redis keeps no append-only file: a restart forgets claims, "
		"and their payments may be made again",
		CLI "--askpass CONFIG SET appendonly yes, and the same in "
		"redis.conf"}},
	{"with TLS", "'redis':'rediss://h:7','tls':{'server_name':'n'}",
	    "aof_enabled:0\r\n", {SEEN},
	    {FINDING_persistence, LEVEL_FAIL, "/store/redis",
		"Redis keeps no append-only file: a restart forgets claims, "
		"and their payments may be made again",
		"redis-cli -h h -p 7 --tls --sni n CONFIG SET appendonly yes, "
		"and the same in redis.conf"}},
};
/* clang-format on */

static void
assert_row(const struct row *row)
{
	char *text = mem_printf(TRY_WELL_FILE("'upstreams':{},'routes':[],"
					      "'store':{%s}"),
	    row->store != NULL ? row->store : SOCKET);
	struct diagnostics seen = row->seen;
	seen.missing = mem_zero(n_rights * sizeof(bool));
	seen.info = row->info ? mem_printf("%s%s", row->info, usual_info)
			      : NULL;
	struct doctor doctor = {.file = "test",
	    .conf = try_conf(text),
	    .redises = &seen,
	    .n_redises = 1};
	assert_verdict(&doctor, row->shows, &row->verdict);
	conf_unref(&doctor.conf);
	free(seen.info);
	free(seen.missing);
	free(text);
}

#define ROWS(test, rows)                                               \
	static void test(void **state)                                 \
	{                                                              \
		(void)state;                                           \
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) \
			assert_row(&rows[i]);                          \
	}

ROWS(it_is_told_what_redis_is, what_it_is)
ROWS(it_is_told_what_redis_may_forget, what_it_forgets)
ROWS(it_is_told_whether_there_are_replicas, replicas)
ROWS(it_is_told_how_much_room_and_time_there_is, room_and_time)
ROWS(it_is_told_what_lies_there, what_lies_there)
ROWS(it_is_told_why_nobody_comes_in, coming_in)
ROWS(it_is_told_what_a_cluster_is, masters)
ROWS(a_command_of_a_cure_leads_to_the_redis_that_is_meant, leading_there)

/* What two masters have in common is said once, what is wrong of each. */
static void
what_is_wrong_is_said_of_each_master(void **state)
{
	(void)state;
	struct diagnostics seen[] = {{SEEN, .place = T("h:1")},
	    {SEEN, .place = T("h:2")}, {SEEN, .place = T("h:3")}};
	char *infos[] = {mem_printf("aof_enabled:0\r\n%s", usual_info),
	    mem_printf("%s", usual_info),
	    mem_printf("aof_enabled:0\r\n%s", usual_info)};
	for (size_t i = 0; i < 3; i++) {
		seen[i].missing = mem_zero(n_rights * sizeof(bool));
		seen[i].info = infos[i];
	}
	static const struct complaints none;
	struct doctor doctor = {.file = "test",
	    .conf = try_conf(TRY_WELL_FILE(
		"'upstreams':{},'routes':[],'store':{" CLUSTER "}")),
	    .complaints = &none,
	    .redises = seen,
	    .n_redises = 3};
	doctor_reconcile_look(&doctor);
	doctor_judge(&doctor);
	unsigned files = 0, versions = 0;
	for (size_t i = 0; i < doctor.count; i++) {
		const struct finding *f = &doctor.list[i];
		files += f->name == FINDING_persistence &&
		    f->level == LEVEL_FAIL &&
		    strncmp(f->message, files ? "h:3: " : "h:1: ", 5) == 0;
		versions += f->name == FINDING_redis_old;
	}
	assert_int_equal(files, 2);
	assert_int_equal(versions, 1);
	findings_free(&doctor);
	doctor_reconcile_clear(&doctor);
	conf_unref(&doctor.conf);
	for (size_t i = 0; i < 3; i++) {
		free(seen[i].missing);
		free(infos[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_is_told_what_redis_is),
	    cmocka_unit_test(it_is_told_what_redis_may_forget),
	    cmocka_unit_test(it_is_told_whether_there_are_replicas),
	    cmocka_unit_test(it_is_told_how_much_room_and_time_there_is),
	    cmocka_unit_test(it_is_told_what_lies_there),
	    cmocka_unit_test(it_is_told_why_nobody_comes_in),
	    cmocka_unit_test(it_is_told_what_a_cluster_is),
	    cmocka_unit_test(
		a_command_of_a_cure_leads_to_the_redis_that_is_meant),
	    cmocka_unit_test(what_is_wrong_is_said_of_each_master),
	};
	return cmocka_run_group_tests_name(
	    "verdicts_redis", tests, NULL, NULL);
}
