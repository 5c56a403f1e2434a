/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

/*
 * Brokers of Kafka and sources that read topics: what their members come to,
 * and what is wrong with them.
 */

#define FILE_WITH(brokers, sources) \
	"{" TRY_LISTEN "," TRY_UPSTREAMS ",'routes':[{'name':'r'," \
	"'path':'/a/*','upstream':'u','idempotency':{'scope':[]}}]," \
	"'brokers':{" brokers "},'sources':{" sources "}}"
#define KAFKA "'k':{'kafka':['h:1','i:2']}"
#define PATH "'request':{'path':'/a/{id}'}"
#define BROKER(members) FILE_WITH("'k':{" members "}", "")
#define TOPICS(members) \
	FILE_WITH(KAFKA, "'s':{'broker':'k','topics':['in']," members "}")
#define TWO(brokers, a, b) \
	FILE_WITH(brokers, "'a':{" a "," PATH "},'b':{" b "," PATH "}")

#ifdef HAVE_KAFKA
#define BUILT ""
#else
#define BUILT "/brokers/k/kafka: built without Kafka\n"
#endif
#define WRONG(lines) BUILT lines

#ifdef HAVE_KAFKA
static void
what_is_left_out_of_topics_has_its_default(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(TOPICS(PATH));
	const struct conf_source *s = &conf->sources[0];
	assert_int_equal(s->broker->kind, BROKER_KAFKA);
	assert_int_equal(s->broker->kafka.count, 2);
	assert_string_equal(s->broker->kafka.list[1], "i:2");
	assert_int_equal(s->broker->settings.count, 0);
	assert_int_equal(s->topics.count, 1);
	assert_string_equal(s->topics.list[0], "in");
	assert_string_equal(s->group, "onceproxy");
	assert_false(s->start_latest);
	assert_null(s->stream);
	assert_null(s->table);
	assert_null(s->results);
	assert_null(s->dead_letters);
	conf_unref(&conf);
}

static void
what_the_file_says_of_topics(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(FILE_WITH(
	    "'k':{'kafka':['h:1'],'settings':{'client.rack':'a',"
	    "'sasl.password':'b'}}",
	    "'s':{'broker':'k','topics':['x','y'],'group':'g',"
	    "'start':'latest','order_by':'key','behind':'go-on',"
	    "'nulls':'send',"
	    "'request':{'path':'/a/{key}'},'results':{'topic':'out'},"
	    "'dead_letters':{'topic':'no'}}"));
	const struct conf_source *s = &conf->sources[0];
	const struct conf_settings *settings = &s->broker->settings;
	assert_int_equal(settings->count, 2);
	assert_string_equal(settings->list[0].name, "client.rack");
	assert_string_equal(settings->list[0].value, "a");
	assert_true(settings->list[0].shown);
	assert_false(settings->list[1].shown);
	assert_int_equal(s->topics.count, 2);
	assert_string_equal(s->group, "g");
	assert_true(s->start_latest);
	assert_int_equal(s->order_by, SOURCE_ORDER_KEY);
	assert_int_equal(s->nulls, NULLS_SEND);
	assert_string_equal(s->results, "out");
	assert_string_equal(s->dead_letters, "no");
	conf_unref(&conf);
}

static void
librdkafka_is_asked_about_each_setting(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {BROKER("'kafka':['h:1'],'settings':{'no.such':'x',"
		    "'fetch.wait.max.ms':'x','client.rack':7}"),
		"/brokers/k/settings/no.such: No such configuration property: "
		"\"no.such\"\n"
		"/brokers/k/settings/fetch.wait.max.ms: Invalid value for "
		"configuration property \"fetch.wait.max.ms\"\n"
		"/brokers/k/settings/client.rack: must be a string\n"},
	    {BROKER("'kafka':['h:1'],'settings':{'security.protocol':"
		    "'SASL_PLAINTEXT','sasl.mechanism':'NONE'}"),
		"/brokers/k/settings: Unsupported SASL mechanism: NONE\n"},
	    {BROKER("'kafka':['h:1'],'settings':{'session.timeout.ms':'0'}"),
		"/brokers/k/settings/session.timeout.ms: Configuration "
		"property \"session.timeout.ms\" value 0 is outside allowed "
		"range 1..3600000\n"},
	};
	ASSERT_ALL_WRONG(list);
}
#endif

static void
what_the_promise_rests_on_is_no_setting(void **state)
{
	(void)state;
	static const char *const names[] = {"plugin.library.paths",
	    "group.id", "batch.size", "enable.auto.commit",
	    "enable.auto.offset.store", "isolation.level", "transactional.id",
	    "test.mock.num.brokers", "auto.offset.reset", "bootstrap.servers",
	    "metadata.broker.list", "partition.assignment.strategy",
	    "enable.idempotence", "acks", "Group.Id"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *file = mem_printf(
		    BROKER("'kafka':['h:1'],'settings':{'%s':'1'}"), names[i]);
		char *wanted = mem_printf(WRONG(
		    "/brokers/k/settings/%s: the gateway sets this itself\n"),
		    names[i]);
		char *said = try_wrong(file);
		assert_string_equal(said, wanted);
		free(said);
		free(wanted);
		free(file);
	}
}

static void
what_is_wrong_with_a_broker_of_kafka(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {BROKER("'kafka':['SASL_SSL://h:1']"),
		"/brokers/k/kafka/0: must be HOST:PORT, not a URL\n"},
	    {BROKER("'kafka':[]"),
		WRONG("/brokers/k/kafka: must not be empty\n")},
	    {BROKER("'kafka':['h:1'],'settings':[]"),
		WRONG("/brokers/k/settings: must be an object\n")},
	    {BROKER("'kafka':['h:1'],'redis':'redis://h','password':'x',"
		    "'timeout':'1s'"),
		WRONG("/brokers/k/redis: cannot be combined with \"kafka\": "
		      "leave one of them out\n"
		      "/brokers/k/password: only a broker of Redis or "
		      "PostgreSQL has this\n"
		      "/brokers/k/timeout: only a broker of Redis has this\n")},
	    {BROKER("'redis':'redis://h','settings':{}"),
		"/brokers/k/settings: only a broker of Kafka has this\n"},
	};
	ASSERT_ALL_WRONG(list);
}

static void
what_is_wrong_with_topics(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {FILE_WITH(KAFKA, "'s':{'broker':'k'," PATH "}"),
		WRONG("/sources/s: \"topics\" is missing: \"k\" is a broker "
		      "of Kafka\n")},
	    {FILE_WITH(KAFKA, "'s':{'broker':'k','stream':'t','group':'g',"
			      PATH "}"),
		WRONG("/sources/s/stream: \"stream\" is for a broker of "
		      "Redis; \"k\" is one of Kafka, where it is "
		      "\"topics\"\n")},
	    {FILE_WITH(KAFKA, "'s':{'broker':'k','topics':['a b','..','x',"
			      "'x']," PATH "}"),
		WRONG("/sources/s/topics/0: must consist of 1 to 249 letters, "
		      "digits and . _ -\n"
		      "/sources/s/topics/1: must consist of 1 to 249 letters, "
		      "digits and . _ -\n"
		      "/sources/s/topics/3: appears twice\n")},
	    {TOPICS("'stream':'x','poll':'1s','results':{'stream':'x'},"
		    "'order_by':'entity','behind':'go-on'," PATH),
		WRONG("/sources/s/stream: only a source of Redis "
		      "has this\n"
		      "/sources/s/poll: only a source of PostgreSQL has "
		      "this\n"
		      "/sources/s/results: must be {\"topic\": NAME}\n"
		      "/sources/s/order_by: only the rows of a table have an "
		      "entity\n")},
	    {TOPICS("'order_by':'key'," PATH), WRONG("")},
	    {TOPICS("'order_by':'none'," PATH), WRONG("")},
	};
	ASSERT_ALL_WRONG(list);
}

static void
no_source_reads_a_topic_that_is_read_or_put_to(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TOPICS("'results':{'topic':'in'}," PATH),
		WRONG("/sources/s/results: \"in\" is read by the source "
		      "\"s\"\n")},
	    {TOPICS("'dead_letters':{'topic':'in'}," PATH),
		WRONG("/sources/s/dead_letters: \"in\" is read by the source "
		      "\"s\"\n")},
	    {TOPICS("'results':{'topic':'in.dead'}," PATH),
		WRONG("/sources/s/results: \"in.dead\" has the dead letters "
		      "of \"s\"\n")},
	    {TWO(KAFKA, "'broker':'k','topics':['x','y']",
		 "'broker':'k','topics':['y.dead']"),
		WRONG("/sources/a/dead_letters: \"y.dead\" is read by the "
		      "source \"b\"\n")},
	    {TWO(KAFKA, "'broker':'k','topics':['x','y']",
		 "'broker':'k','topics':['z','y']"),
		WRONG("/sources/b/topics: \"y\" is read already, by the same "
		      "group, by the source \"a\"\n")},
	    {TWO(KAFKA ",'l':{'kafka':['i:2']}", "'broker':'k','topics':['x']",
		 "'broker':'l','topics':['y'],'results':{'topic':'x'}"),
		WRONG("/sources/b/results: \"x\" is read by the source "
		      "\"a\"\n")},
	    {TWO(KAFKA, "'broker':'k','topics':['x']",
		 "'broker':'k','topics':['x'],'group':'other'"),
		WRONG("")},
	};
	ASSERT_ALL_WRONG(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef HAVE_KAFKA
	    cmocka_unit_test(what_is_left_out_of_topics_has_its_default),
	    cmocka_unit_test(what_the_file_says_of_topics),
	    cmocka_unit_test(librdkafka_is_asked_about_each_setting),
#endif
	    cmocka_unit_test(what_the_promise_rests_on_is_no_setting),
	    cmocka_unit_test(what_is_wrong_with_a_broker_of_kafka),
	    cmocka_unit_test(what_is_wrong_with_topics),
	    cmocka_unit_test(no_source_reads_a_topic_that_is_read_or_put_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
