/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/error.h"
#include "doctor_try.h"

/*
 * What doctor says of upstreams, of brokers with their sources and relays, and
 * of Sentinels, by what was seen of them.
 */

/* clang-format off */

/* --- upstreams --- */

enum { TARGETS_MAX = 2 };

struct upstream_row {
	const char *shows;
	const char *targets; /* of the file's only upstream, "a/b" */
	struct reached seen[TARGETS_MAX]; /* of each of them */
	struct verdict verdict;
};

static const struct upstream_row upstream_rows[] = {
	{"it is there", "'http://h:1'", {{0}},
	    {FINDING_upstream_closed, LEVEL_OK, NULL,
		"upstreams accept connections", NULL}},
	{"no address", "'http://its'", {{.error = E_RESOLVE}},
	    {FINDING_upstream_name, LEVEL_FAIL, "/upstreams/a~1b",
		"the host name has no address: http://its: the name has no "
		"address",
		"correct the name, or add it to DNS or /etc/hosts: getent "
		"hosts its"}},
	{"a closed port", "'http://h:1'", {{.error = E_UNREACHABLE,
		.message = "Connection refused"}},
	    {FINDING_upstream_closed, LEVEL_FAIL, "/upstreams/a~1b",
		"no connection could be made: http://h:1: Connection refused",
		"start the upstream, or correct its address: http://h:1"}},
	{"silence", "'http://[::1]:1'", {{.error = E_TIMEOUT}},
	    {FINDING_upstream_silent, LEVEL_FAIL, "/upstreams/a~1b",
		"no connection within connect_timeout: http://[::1]:1: time "
		"ran out",
		"check whether a firewall drops packets to [::1]:1, or raise "
		"connect_timeout"}},
	{"no TLS", "'https://h'", {{.error = E_TLS_NONE}},
	    {FINDING_upstream_plain, LEVEL_FAIL, "/upstreams/a~1b",
		"what answers there speaks no TLS, but perhaps plain HTTP: "
		"https://h: the TLS handshake failed: what answers there "
		"speaks no TLS",
		"write http:// instead of https://, or correct the port: "
		"https://h"}},
	{"TLS", "'http://h'", {{.wants_tls = true}},
	    {FINDING_upstream_wants_tls, LEVEL_FAIL, "/upstreams/a~1b",
		"what answers there speaks TLS and no plain HTTP, so that no "
		"answer to a payment can be read, and each is held as unknown: "
		"http://h",
		"write https:// instead of http://, and name the authorities "
		"of its certificate in ca unless the system trusts them; or "
		"correct the port: http://h"}},
	{"TLS of one of two", "'http://h','http://i'",
	    {{0}, {.wants_tls = true}},
	    {FINDING_upstream_wants_tls, LEVEL_FAIL,
		"/upstreams/a~1b/targets/1",
		"what answers there speaks TLS and no plain HTTP, so that no "
		"answer to a payment can be read, and each is held as unknown: "
		"http://i",
		"write https:// instead of http://, and name the authorities "
		"of its certificate in ca unless the system trusts them; or "
		"correct the port: http://i"}},
	{"a certificate of a stranger", "'https://h'",
	    {{.error = E_TLS_AUTHORITY, .message = "of nobody we know"}},
	    {FINDING_upstream_tls, LEVEL_FAIL, "/upstreams/a~1b",
		"TLS fails: https://h: of nobody we know",
		"put the authorities that issued its certificate into ca, and "
		"our own certificate and key if it asks for one; see what it "
		"presents: openssl s_client -connect h:443 -servername h"}},
	{"one that another stands in for", "'http://h','http://i'",
	    {{.error = E_UNREACHABLE}, {0}},
	    {FINDING_target_down, LEVEL_WARN, "/upstreams/a~1b/targets/0",
		"this target cannot be reached, and the upstream's other "
		"targets take its requests: http://h: no connection",
		"start it, or remove it from targets: http://h"}},
};

static void
assert_upstream(const struct upstream_row *row)
{
	char *text = mem_printf(TRY_WELL_FILE(
	    "'routes':[],'upstreams':{'a/b':{'targets':[%s]}}"), row->targets);
	struct doctor doctor = {.file = "test", .conf = try_conf(text)};
	const struct conf_upstream *upstream = &doctor.conf->upstreams[0];
	struct reached seen[TARGETS_MAX];
	for (size_t i = 0; i < upstream->n_targets; i++) {
		seen[i] = row->seen[i];
		seen[i].upstream = upstream;
		seen[i].target = &upstream->targets[i];
	}
	doctor.reached = seen;
	doctor.n_reached = upstream->n_targets;
	assert_verdict(&doctor, row->shows, &row->verdict);
	conf_unref(&doctor.conf);
	free(text);
}

/* --- brokers and sources --- */

struct seen_row {
	const char *shows;
	struct source_seen seen;
	struct verdict verdict;
};

#define SEEN .how = BROKER_SEEN, .lag = -1
#define SKIPPED "not checked: the broker could not be examined"

static const struct seen_row source_rows[] = {
	{"silence", {.how = BROKER_SILENT, .message = T("Timeout")},
	    {FINDING_broker_unreachable, LEVEL_FAIL, "/brokers/q",
		"the broker does not answer, so no message is taken: Timeout",
		"start it, and check that the broker's address and firewalls "
		"let the gateway connect; it goes on by itself when the broker "
		"is back"}},
	{"a login that is refused", {.how = BROKER_REFUSED,
		.message = T("WRONGPASS x.")},
	    {FINDING_broker_login, LEVEL_FAIL, "/brokers/q",
		"the broker does not accept our login, so no message is taken: "
		"WRONGPASS x.",
		"put the user's name and password into the broker's URL, or "
		"user and password, or create the user "
		"(onceproxy-recipes(7))"}},
	{"a standby that refuses us", {.how = BROKER_REFUSED, .replica = true,
		.message = T("x")},
	    {FINDING_broker_replica, LEVEL_FAIL, "/brokers/q",
		"the broker is a replica: messages can be read there, and not "
		"acknowledged",
		"name the master or primary in the broker's URL"}},
	{"a replica", {SEEN, .replica = true},
	    {FINDING_broker_replica, LEVEL_FAIL, "/brokers/q",
		"the broker is a replica: messages can be read there, and not "
		"acknowledged",
		"name the master or primary in the broker's URL"}},
	{"eviction", {SEEN, .policy = T("allkeys-lru")},
	    {FINDING_broker_eviction, LEVEL_WARN, "/brokers/q",
		"this Redis may evict a stream with all its messages: "
		"maxmemory-policy is allkeys-lru",
		"redis-cli -h h -p 7 CONFIG SET maxmemory-policy noeviction, "
		"and the same in redis.conf"}},
	{"no append-only file", {SEEN, .forgets = true},
	    {FINDING_broker_persistence, LEVEL_WARN, "/brokers/q",
		"this Redis keeps no append-only file: a restart forgets "
		"messages, and which of them were acknowledged",
		"redis-cli -h h -p 7 CONFIG SET appendonly yes, and the same "
		"in redis.conf"}},
	{"what is no stream", {SEEN, .missing = T("s is no stream")},
	    {FINDING_source_missing, LEVEL_FAIL, "/sources/s",
		"what the source reads or writes is not there, or is something "
		"else: s is no stream",
		"create it, or correct the source's stream, table and columns, "
		"or where its results and dead_letters go"}},
	{"a right", {SEEN, .rights = T("+xadd"),
		.grant = T("ACL SETUSER u +xadd")},
	    {FINDING_source_rights, LEVEL_FAIL, "/sources/s",
		"this user of the broker may not: +xadd",
		"have the broker's administrator say: ACL SETUSER u +xadd"}},
	{"entries that were trimmed", {SEEN, .trimmed = 3},
	    {FINDING_source_trimmed, LEVEL_WARN, "/sources/s",
		"entries that were trimmed from the stream before they were "
		"read are lost: 3",
		"ask those who wrote them, and have the stream trimmed further "
		"behind: a greater MAXLEN, or MINID"}},
	{"messages that wait for less than a minute", {.how = BROKER_SEEN,
		.lag = 2, .waits_ms = 59999},
	    {FINDING_source_waits, LEVEL_OK, NULL, "s: 2 messages are unread",
		NULL}},
	{"messages that wait", {.how = BROKER_SEEN, .lag = 2,
		.waits_ms = 60000},
	    {FINDING_source_waits, LEVEL_WARN, "/sources/s",
		"messages wait to be taken: 2, the oldest for 60 s",
		"start a gateway if none is running; else see why the source "
		"stands still: source_stands in its log"}},
	{"messages that wait, nobody knows how many", {SEEN,
		.waits_ms = 61000},
	    {FINDING_source_waits, LEVEL_WARN, "/sources/s",
		"messages wait to be taken: the oldest for 61 s",
		"start a gateway if none is running; else see why the source "
		"stands still: source_stands in its log"}},
	{"sessions that cannot be seen", {SEEN, .blind = true},
	    {FINDING_source_snapshot, LEVEL_SKIP, NULL,
		"not checked: this user may not see the sessions of others "
		"(GRANT pg_read_all_stats)", NULL}},
	{"an old snapshot", {SEEN, .snapshot = T("process 7")},
	    {FINDING_source_snapshot, LEVEL_WARN, "/brokers/q",
		"rows that are gone cannot be cleared away and slow each look "
		"at the table down, because something holds an old snapshot: "
		"process 7",
		"end it: a transaction that was forgotten "
		"(pg_terminate_backend), or ROLLBACK PREPARED, or a replica "
		"that is behind"}},
	{"a topic that nobody makes", {SEEN, .no_place = T("dead")},
	    {FINDING_source_places, LEVEL_FAIL, "/sources/s",
		"there is no such topic, and the broker makes none by itself, "
		"so results or dead letters keep the source standing: dead",
		"make it, with as many partitions as the source's topic has: "
		"kafka-topics.sh --create --topic NAME"}},
	{"one broker that keeps it", {SEEN, .few_copies = T("dead: 1")},
	    {FINDING_source_copies, LEVEL_WARN, "/sources/s",
		"what is put there is lost with one broker: dead: 1",
		"give the topic three replicas and min.insync.replicas=2"}},
	{"offsets that are forgotten", {SEEN, .offsets = T("1 h")},
	    {FINDING_source_offsets, LEVEL_WARN, "/sources/s",
		"a group that nobody reads as for that long begins anew; what "
		"it has finished only Redis knows then: 1 h",
		"raise offsets.retention.minutes of the brokers, or shorten "
		"max_age"}},
	{"others in the group", {SEEN, .others = T("by \"sticky\"")},
	    {FINDING_source_others, LEVEL_FAIL, "/sources/s",
		"the group has members that are no gateways: what they take is "
		"never executed, and while they share its partitions by "
		"another protocol than \"range\" no gateway may join: by "
		"\"sticky\"",
		"end them (kafka-consumer-groups.sh --describe --members "
		"--group NAME says who they are), or give the source a group "
		"of its own"}},
};

/* Of the only source of its broker. */
static void
assert_source(const struct seen_row *row)
{
#define SOURCE "{'broker':'q','stream':'s','request':{'path':'/'}}"
	struct doctor doctor = {.file = "test",
	    .conf = try_conf(TRY_WELL_FILE(
		"'upstreams':{'u':'http://h'},'routes':[{'path':'/',"
		"'upstream':'u','idempotency':{'retention':'8d',"
		"'scope':[]}}],"
		"'brokers':{'q':{'redis':'redis://h:7'}},"
		"'sources':{'s':" SOURCE "}"))};
	struct source_seen seen = row->seen;
	doctor.sources = &seen;
	assert_verdict(&doctor, row->shows, &row->verdict);
	conf_unref(&doctor.conf);
}
/* clang-format on */

/* --- relays --- */

#ifdef HAVE_KAFKA
static void
it_is_told_of_relays(void **state)
{
	(void)state;
	struct source_seen seen = {
	    .how = BROKER_SILENT, .message = T("Connection refused")};
	struct doctor doctor = {.file = "test",
	    .conf = try_conf(TRY_WELL_FILE(
		"'upstreams':{},'routes':[],'store':{'events':{'maxlen':9}},"
		"'brokers':{'k':{'kafka':['h:1']}},"
		"'relays':{'r':{'broker':'k','topic':'t'}}")),
	    .relays = &seen};
	assert_verdict(&doctor, "silence",
	    &(struct verdict){FINDING_relay_unreachable, LEVEL_FAIL,
		"/relays/r",
		"events wait, because the relay's broker does not take them: "
		"Connection refused",
		"start it, or correct the broker's URL or servers, user and "
		"password; a PostgreSQL that is a standby takes no writes: "
		"name the primary"});
	assert_verdict_with(&doctor, "what is not known then",
	    &(struct verdict){FINDING_relay_topic, LEVEL_SKIP, NULL,
		"not checked: the relay's broker could not be examined",
		NULL},
	    FINDING_relay_unreachable);
	seen = (struct source_seen){
	    .how = BROKER_SEEN, .missing = T("there is no topic t")};
	assert_verdict(&doctor, "no topic",
	    &(struct verdict){FINDING_relay_topic, LEVEL_FAIL, "/relays/r",
		"the relay cannot write its topic: there is no topic t",
		"make it (kafka-topics.sh --create), or name another one; if "
		"it is there, the gateway's user needs WRITE, READ and "
		"DESCRIBE on it"});
	conf_unref(&doctor.conf);
}
#endif

/* --- Sentinels --- */

#define THREE                                                             \
	TRY_WELL_FILE("'upstreams':{},'routes':[],'store':{'sentinels':" \
		      "['a:1','b:2','c:3'],'master':'m'}")

static void
assert_sentinels(const char *shows, struct sentinel_answer *said,
    struct verdict verdict, enum finding_name with)
{
	struct diagnostics master = {.how = REDIS_SEEN,
	    .missing = mem_zero(n_rights * sizeof(bool))};
	struct doctor doctor = {.file = "test",
	    .conf = try_conf(THREE),
	    .sentinels = said,
	    .redises = &master,
	    .n_redises = 1};
	assert_verdict_with(&doctor, shows, &verdict, with);
	conf_unref(&doctor.conf);
	free(master.missing);
}

static void
it_is_told_of_sentinels(void **state)
{
	(void)state;
	const struct sentinel_answer well = {
	    .named = {.host = "m", .port = 6, .epoch = 2}};
	const struct sentinel_answer old = {
	    .named = {.host = "n", .port = 6, .epoch = 1}};
	const struct sentinel_answer gone = {.message = T("Timeout")};
	assert_sentinels("all name the master",
	    (struct sentinel_answer[]){well, well, well},
	    (struct verdict){FINDING_sentinel_lost, LEVEL_OK, NULL,
		"each Sentinel names the master", NULL},
	    FINDING_sentinel_lost);
	assert_sentinels("one is gone",
	    (struct sentinel_answer[]){well, gone, well},
	    (struct verdict){FINDING_sentinel_lost, LEVEL_WARN,
		"/store/sentinels/1",
		"this Sentinel does not name the master: b:2: Timeout",
		"start it, or correct store.sentinels and store.master; query "
		"it with: redis-cli -h b -p 2 SENTINEL MASTER m"},
	    FINDING_sentinel_lost);
	assert_sentinels("most are gone",
	    (struct sentinel_answer[]){gone, gone, well},
	    (struct verdict){FINDING_sentinels_few, LEVEL_FAIL,
		"/store/sentinels",
		"too few Sentinels name the master to detect a failover or to "
		"agree on one: 1 of 3",
		"start the others: more than half of them are needed"},
	    FINDING_sentinel_lost);
	assert_sentinels("one is behind",
	    (struct sentinel_answer[]){well, well, old},
	    (struct verdict){FINDING_sentinel_behind, LEVEL_WARN,
		"/store/sentinels/2",
		"the Sentinels do not name the same master: c:3 names n:6, "
		"others name m:6",
		"check whether that Sentinel can reach the others and the "
		"servers; query it with: redis-cli -h c -p 3 SENTINEL MASTER "
		"m"},
	    FINDING_sentinel_behind);
}

/* --- all of them --- */

static void
it_is_told_of_upstreams(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof upstream_rows / sizeof *upstream_rows;
	     i++)
		assert_upstream(&upstream_rows[i]);
}

static void
it_is_told_of_brokers_and_sources(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof source_rows / sizeof *source_rows; i++)
		assert_source(&source_rows[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_is_told_of_upstreams),
	    cmocka_unit_test(it_is_told_of_brokers_and_sources),
#ifdef HAVE_KAFKA
	    cmocka_unit_test(it_is_told_of_relays),
#endif
	    cmocka_unit_test(it_is_told_of_sentinels),
	};
	return cmocka_run_group_tests_name(
	    "verdicts_places", tests, NULL, NULL);
}
