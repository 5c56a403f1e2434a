/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

/*
 * Brokers and sources: what their members come to, and what is wrong with
 * them, a case for each rule.
 */

#define ROUTES \
	"'routes':[" \
	"{'name':'charges','methods':['POST'],'path':'/v1/{a}/charges'," \
	"'upstream':'u','idempotency':{'scope':[]}}," \
	"{'name':'ping','path':'/ping','upstream':'u'}]"
#define BROKERS \
	"'brokers':{'q':{'redis':'redis://h'},'q2':{'redis':'redis://h'}," \
	"'other':{'redis':'redis://h/1'},'c':{'cluster':['h:1']}," \
	"'p':{'postgres':'postgresql://h/x'}}"
#define PATH "'request':{'path':'/v1/{json:/a}/charges'}"

#define FILE_WITH(routes, brokers, sources) \
	"{" TRY_LISTEN "," TRY_UPSTREAMS "," routes "," brokers \
	",'sources':{" sources "}}"
#define SOURCES(sources) FILE_WITH(ROUTES, BROKERS, sources)
/* Around members of the only source. */
#define STREAM(members) SOURCES("'s':{'broker':'q','stream':'in'," members "}")
#define TABLE(members) SOURCES("'s':{'broker':'p','table':'in'," members "}")
/* Around the request of the only source. */
#define REQUEST(members) STREAM("'request':{" members "}")
#define BROKER(members) \
	FILE_WITH("'routes':[]", "'brokers':{'p':{" members "}}", "")

#ifdef HAVE_POSTGRES
#define BUILT ""
#else
#define BUILT "/brokers/p/postgres: built without PostgreSQL\n"
#endif
/* Of the files above, which have such a broker. */
#define WRONG(lines) BUILT lines

#define QUEUE "'brokers':{'q':{'redis':'redis://h'}}"
#define ONE(members) \
	FILE_WITH(ROUTES, QUEUE, "'s':{'broker':'q','stream':'in'," members "}")

static void
what_is_left_out_of_a_stream_has_its_default(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(ONE(PATH));
	assert_int_equal(conf->n_sources, 1);
	const struct conf_source *s = &conf->sources[0];
	assert_string_equal(s->name, "s");
	assert_ptr_equal(s->broker, &conf->brokers[0]);
	assert_int_equal(s->broker->kind, BROKER_STREAMS);
	assert_string_equal(s->stream, "in");
	assert_null(s->table);
	assert_string_equal(s->group, "onceproxy");
	assert_false(s->start_latest);
	assert_string_equal(s->request.method, "POST");
	assert_int_equal(s->request.path.count, 3);
	assert_int_equal(s->request.n_headers, 0);
	assert_null(s->request.body_field);
	assert_null(s->request.content_type);
	assert_false(s->request.cloudevents);
	assert_int_equal(s->key, SOURCE_KEY_AUTO);
	assert_int_equal(s->order_by, SOURCE_ORDER_NONE);
	assert_int_equal(s->in_flight, 64);
	assert_int_equal(s->retry_first_ms, 1000);
	assert_int_equal(s->retry_most_ms, 300000);
	assert_int_equal(s->retry_attempts, 10);
	assert_int_equal(s->hold_ms, 86400000);
	assert_false(s->refused_ack);
	assert_int_equal(s->nulls, NULLS_DEAD_LETTER);
	assert_int_equal(s->keep_dead, 10000);
	assert_int_equal(s->max_age_ms, 0);
	assert_null(s->results);
	assert_string_equal(s->dead_letters, "in:dead");
	assert_false(s->behind_go_on);
	conf_unref(&conf);
}

static void
what_is_said_of_a_stream_is_filled_in(void **state)
{
	(void)state;
	setenv("A_TOKEN", "Bearer x", 1);
	const struct conf *conf = try_conf(ONE(
	    "'group':'g','start':'latest',"
	    "'request':{'method':'POST','path':'/v1/x/charges?q={id}',"
	    "'headers':{'Authorization':{'env':'A_TOKEN'},"
	    "'X-From':'from {header:from}'},"
	    "'body':{'field':'payload'},'content_type':'text/plain',"
	    "'cloudevents':'binary'},"
	    "'key':['/order','/action'],'order_by':{'header':'account'},"
	    "'in_flight':1,'retry':{'first':'2s','most':'2s','attempts':1},"
	    "'hold':'1s','refused':'ack','keep_dead':1,'max_age':'7d',"
	    "'results':{'stream':'out'},'dead_letters':{'stream':'no'},"
	    "'behind':'go-on'"));
	const struct conf_source *s = &conf->sources[0];
	assert_string_equal(s->group, "g");
	assert_true(s->start_latest);
	assert_int_equal(s->request.n_headers, 2);
	const struct conf_header *headers = s->request.headers;
	assert_string_equal(headers[0].name, "Authorization");
	assert_string_equal(headers[0].secret, "Bearer x");
	assert_int_equal(headers[0].value.count, 0);
	assert_null(headers[1].secret);
	assert_int_equal(headers[1].value.pieces[1].kind, TEMPLATE_HEADER);
	assert_string_equal(s->request.body_field, "payload");
	assert_string_equal(s->request.content_type, "text/plain");
	assert_true(s->request.cloudevents);
	assert_int_equal(s->key, SOURCE_KEY_POINTERS);
	assert_int_equal(s->key_pointers.count, 2);
	assert_int_equal(s->order_by, SOURCE_ORDER_HEADER);
	assert_string_equal(s->order_header, "account");
	assert_int_equal(s->in_flight, 1);
	assert_int_equal(s->retry_attempts, 1);
	assert_true(s->refused_ack);
	assert_int_equal(s->keep_dead, 1);
	assert_int_equal(s->max_age_ms, INT64_C(7) * 86400000);
	assert_string_equal(s->results, "out");
	assert_string_equal(s->dead_letters, "no");
	assert_true(s->behind_go_on);
	conf_unref(&conf);
}

#ifdef HAVE_POSTGRES
static void
a_table_has_the_columns_of_debezium_unless_it_says_others(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(FILE_WITH(ROUTES,
	    "'brokers':{'p':{'postgres':'postgres://u:a%40b@h1:1,[::1]/x'}}",
	    "'s':{'broker':'p','table':'shop.outbox'," PATH "},"
	    "'t':{'broker':'p','table':'t','columns':{'id':'i','entity':'e',"
	    "'type':'y','payload':'p','headers':'h','order':'o'},"
	    "'finish':{'set':'done'},'notify':'n','poll':'2s',"
	    "'order_by':'entity','key':'position','nulls':'ack'," PATH "},"
	    "'u':{'broker':'p','table':'u','columns':{'headers':null,"
	    "'entity':null,'type':null},'finish':'delete'," PATH "},"
	    "'v':{'broker':'p','table':'v','finish':"
	    "{'set':'sent','from':false,'to':17}," PATH "}"));
	const struct conf_broker *p = &conf->brokers[0];
	assert_int_equal(p->kind, BROKER_POSTGRES);
	assert_string_equal(p->postgres, "postgresql://u@h1:1,[::1]/x");
	assert_string_equal(p->password, "a@b");
	const struct conf_source *s = &conf->sources[0];
	assert_string_equal(s->table, "shop.outbox");
	assert_null(s->stream);
	assert_string_equal(s->columns.id, "id");
	assert_string_equal(s->columns.entity, "aggregateid");
	assert_string_equal(s->columns.type, "type");
	assert_string_equal(s->columns.payload, "payload");
	assert_null(s->columns.headers);
	assert_null(s->columns.order);
	assert_null(s->finish.column);
	assert_null(s->notify);
	assert_int_equal(s->poll_ms, 500);
	assert_string_equal(s->dead_letters, "shop.outbox_dead");
	s = &conf->sources[1];
	assert_string_equal(s->columns.headers, "h");
	assert_string_equal(s->columns.order, "o");
	assert_string_equal(s->finish.column, "done");
	assert_string_equal(s->notify, "n");
	assert_int_equal(s->order_by, SOURCE_ORDER_ENTITY);
	assert_int_equal(s->key, SOURCE_KEY_POSITION);
	assert_int_equal(s->nulls, NULLS_ACK);
	assert_null(s->finish.from);
	assert_string_equal(conf->sources[3].finish.from, "false");
	assert_string_equal(conf->sources[3].finish.to, "17");
	assert_null(conf->sources[2].columns.headers);
	assert_null(conf->sources[2].columns.entity);
	assert_null(conf->sources[2].columns.type);
	conf_unref(&conf);
}
#endif

static void
a_broker_of_redis_is_reached_as_the_store_is(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(FILE_WITH("'routes':[]",
	    "'store':{'redis':'redis://me:one@h'},"
	    "'brokers':{'a':{'redis':'redis://you:two@h:1/3','timeout':'2s'},"
	    "'b':{'sentinels':['h:1'],'master':'m','user':'u',"
	    "'password':'three'},'c':{'cluster':['h:1','h:2']},"
	    "'d':{'redis':'unix:/s?db=2'}}", ""));
	const struct conf_broker *b = conf->brokers;
	assert_string_equal(conf->store.redis.password, "one");
	assert_string_equal(b[0].redis.user, "you");
	assert_string_equal(b[0].redis.password, "two");
	assert_int_equal(b[0].redis.address.port, 1);
	assert_int_equal(b[0].redis.db, 3);
	assert_int_equal(b[0].redis.timeout_ms, 2000);
	assert_string_equal(b[1].redis.master, "m");
	assert_string_equal(b[1].redis.user, "u");
	assert_string_equal(b[1].redis.password, "three");
	assert_int_equal(b[2].redis.cluster.count, 2);
	assert_null(b[2].redis.password);
	assert_int_equal(b[2].redis.timeout_ms, 500);
	assert_int_equal(b[3].redis.address.kind, ADDRESS_UNIX);
	conf_unref(&conf);
}

static void
a_gateway_has_the_hosts_name_unless_it_says_another(void **state)
{
	(void)state;
	const struct conf *conf = try_conf(TRY_FILE("'workers':1"));
	assert_int_equal(strspn(conf->instance, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789._-"),
	    strlen(conf->instance));
	assert_int_not_equal(strlen(conf->instance), 0);
	conf_unref(&conf);
	conf = try_conf(TRY_FILE("'instance':'gate-1.x'"));
	assert_string_equal(conf->instance, "gate-1.x");
	conf_unref(&conf);
}

static void
what_is_wrong_with_a_broker(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_FILE("'instance':'a b'"),
		"/instance: must consist of 1 to 64 letters, digits and "
		". _ -\n"},
	    {TRY_FILE("'brokers':[]"), "/brokers: must be an object\n"},
	    {TRY_FILE("'brokers':{'a b':{'redis':'redis://h'},'x':7}"),
		"/brokers/a b: its name must consist of 1 to 64 letters, "
		"digits and . _ -\n"
		"/brokers/x: must be an object like {\"redis\": ...}\n"},
	    {BROKER(""), "/brokers/p: \"redis\", \"cluster\", \"sentinels\", "
			 "\"postgres\" or \"kafka\" is missing\n"},
	    {BROKER("'redis':'managed','topics':1"),
		"/brokers/p/redis: must be \"redis://[user[:pass]@]HOST:PORT"
		"[/DB]\", the same with \"rediss://\" for TLS, or "
		"\"unix:/path[?db=N]\"\n"
		"/brokers/p/topics: there is no such member here; it belongs "
		"in a source\n"},
	    {BROKER("'redis':'redis://h','cluster':['h:1']"),
		"/brokers/p/cluster: cannot be combined with \"redis\": "
		"leave one of them out\n"},
	    {BROKER("'sentinels':['h:1']"),
		"/brokers/p/sentinels: \"master\" is needed too\n"},
	    {BROKER("'redis':'redis://h','user':'u'"),
		"/brokers/p/user: \"password\" is needed too\n"},
	    {BROKER("'redis':'redis://u:p@h','password':'q'"),
		"/brokers/p/password: \"redis\" already has a password: "
		"leave this out\n"},
	    {BROKER("'redis':'redis://a:b@h','postgres':'postgres://a:b@h'"),
		"/brokers/p/redis: cannot be combined with \"postgres\": "
		"leave one of them out\n"
		BUILT},
	    {BROKER("'postgres':'postgresql://h','timeout':'1s','user':'x'"),
		BUILT
		"/brokers/p/timeout: only a broker of Redis has this\n"
		"/brokers/p/user: only a broker of Redis has this\n"},
	    {BROKER("'postgres':'postgresql://u:p@h','password':'x'"),
		BUILT
		"/brokers/p/password: \"postgres\" already has a password\n"},
	};
	ASSERT_ALL_WRONG(list);
}

/* What is wrong with a URI, apart from that it may not be built in. */
static char *
said_of_uri(const char *uri)
{
	static const char place[] = "/brokers/p/postgres: ";
	char *text = mem_printf(BROKER("'postgres':'%s'"), uri);
	char *lines = try_wrong(text);
	char *at = lines;
	if (!strncmp(at, BUILT, sizeof BUILT - 1))
		at += sizeof BUILT - 1;
	if (!strncmp(at, place, sizeof place - 1))
		at += sizeof place - 1;
	char *said = mem_str(span_of(at, strcspn(at, "\n")));
	/* Its complaint may stand before the other one. */
	if (!strcmp(said, "built without PostgreSQL"))
		*said = '\0';
	free(text);
	free(lines);
	return said;
}

static void
a_uri_of_postgres_is_read_with_care(void **state)
{
	(void)state;
	static const char form[] = "must be \"postgresql://[user[:pass]@]"
				   "HOST[:PORT][/DATABASE]\"";
	static const char encoded[] = "user, password, database and "
				      "parameters must be percent-encoded";
	static const struct {
		const char *uri;
		const char *said;
	} list[] = {
	    {"postgresql://h", ""},
	    {"postgres://h:5432/x", ""},
	    {"postgresql://", ""},
	    {"postgresql:///x?host=/run/postgresql", ""},
	    {"postgresql://u@a,b:1,[::1]:2/x?target_session_attrs=read-write",
		""},
	    {"postgresql://%2Frun%2Fpostgresql:5433/x", ""},
	    {"postgresql://u:%2F@h/a%20b", ""},
	    {"mysql://h", form},
	    {"host=h dbname=x", form},
	    {"", form},
	    {"postgresql://@h", "there is no user before the @"},
	    {"postgresql://:p@h", "the user is empty"},
	    {"postgresql://u:@h", "the password is empty"},
	    {"postgresql://u%zz@h",
		"user and password must be percent-encoded"},
	    {"postgresql://u:a@b@h", encoded},
	    {"postgresql://h/a b", encoded},
	    {"postgresql://h/%0", encoded},
	    {"postgresql://h/x#y", encoded},
	    {"postgresql://a,,b", "the host must be a name or an IP address"},
	    {"postgresql://h:0", "the port must be between 1 and 65535"},
	    {"postgresql://h:99999", "the port must be between 1 and 65535"},
	    {"postgresql://[::1", "the bracket is not closed"},
	    {"postgresql://%2Frun:x", "the port must be between 1 and 65535"},
	    {"postgresql://%41", "the folder of a Unix socket must begin with "
				 "%2F"},
	    {"postgresql://h?password=x",
		"a parameter must not be a password"},
	    {"postgresql://h?sslpassword=x",
		"a parameter must not be a password"},
	    {"postgresql://h?pass%77ord=x",
		"the name of a parameter has small letters only"},
	    {"postgresql://h?sslmode", "a parameter must be NAME=VALUE"},
	    {"postgresql://h?", "a parameter must be NAME=VALUE"},
	    {"postgresql://h?a=%", encoded},
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		char *said = said_of_uri(list[i].uri);
		if (strcmp(said, list[i].said) != 0)
			print_error("of %s\n", list[i].uri);
		assert_string_equal(said, list[i].said);
		free(said);
	}
}

static void
what_is_wrong_with_one_member(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {SOURCES("'a/b':7"),
		WRONG("/sources/a~1b: its name must consist of 1 to 64 "
		      "letters, digits and . _ -\n"
		      "/sources/a~1b: must be an object like {\"broker\": "
		      "...}\n")},
	    {SOURCES("'s':{}"),
		WRONG("/sources/s: \"broker\" is missing\n"
		      "/sources/s: \"request\" is missing\n")},
	    {SOURCES("'s':{'broker':'x','stream':'in'," PATH "}"),
		WRONG("/sources/s/broker: no broker is named \"x\"\n")},
	    {SOURCES("'s':{'broker':'q'," PATH "}"),
		WRONG("/sources/s: \"stream\" is missing: \"q\" is a broker "
		      "of Redis\n")},
	    {SOURCES("'s':{'broker':'p'," PATH "}"),
		WRONG("/sources/s: \"table\" is missing: \"p\" is a broker "
		      "of PostgreSQL\n")},
	    {SOURCES("'s':{'broker':'q','table':'t','poll':'1s',"
		     "'columns':{'id':'i'}," PATH "}"),
		WRONG("/sources/s/table: \"table\" is for a broker of "
		      "PostgreSQL; \"q\" is one of Redis, where it is "
		      "\"stream\"\n")},
	    {SOURCES("'s':{'broker':'q','topics':['t'],'poll':'1s'," PATH
		     "}"),
		WRONG("/sources/s/topics: \"topics\" is for a broker of "
		      "Kafka; \"q\" is one of Redis, where it is "
		      "\"stream\"\n"
		      "/sources/s/poll: only a source of PostgreSQL has "
		      "this\n")},
	    {SOURCES("'s':{'broker':'p','stream':'t','group':'g'," PATH "}"),
		WRONG("/sources/s/stream: \"stream\" is for a broker of "
		      "Redis; \"p\" is one of PostgreSQL, where it is "
		      "\"table\"\n")},
	    {STREAM("'topics':['x']," PATH),
		WRONG("/sources/s/topics: only a source of Kafka has "
		      "this\n")},
	    {STREAM("'table':'t','columns':{'id':'i'},'finish':'delete',"
		    "'notify':'n','poll':'1s'," PATH),
		WRONG("/sources/s/table: only a source of PostgreSQL has "
		      "this\n"
		      "/sources/s/columns/id: only a source of PostgreSQL "
		      "has this\n"
		      "/sources/s/finish: only a source of PostgreSQL has "
		      "this\n"
		      "/sources/s/notify: only a source of PostgreSQL has "
		      "this\n"
		      "/sources/s/poll: only a source of PostgreSQL has "
		      "this\n")},
	    {TABLE("'stream':'s','group':'g','start':'latest',"
		   "'request':{'path':'/v1/{id}/charges',"
		   "'body':{'field':'f'}}"),
		WRONG("/sources/s/stream: only a source of Redis "
		      "has this\n"
		      "/sources/s/group: only a source of Redis or Kafka has "
		      "this\n"
		      "/sources/s/start: only a source of Redis or Kafka has "
		      "this\n"
		      "/sources/s/request/body/field: only a source of Redis "
		      "has this\n")},
	    {SOURCES("'s':{'broker':'p','table':'a.b.c'," PATH "},"
		     "'t':{'broker':'p','table':'a.'," PATH "},"
		     "'u':{'broker':'p','table':'.a'," PATH "}"),
		WRONG("/sources/s/table: must be TABLE or SCHEMA.TABLE\n"
		      "/sources/t/table: must have 1 to 63 bytes\n"
		      "/sources/u/table: must have 1 to 63 bytes\n")},
	    {TABLE("'columns':{'id':null,'entity':null,'type':null},"
		   "'order_by':'entity',"
		   "'request':{'path':'/v1/a/charges','headers':"
		   "{'X-E':'{entity}','X-T':'{type}'}}"),
		WRONG("/sources/s/columns/id: must be a string\n"
		      "/sources/s/order_by: \"columns.entity\" must not be "
		      "null\n"
		      "/sources/s/request/headers/X-E: {entity}: "
		      "\"columns.entity\" must not be null\n"
		      "/sources/s/request/headers/X-T: {type}: "
		      "\"columns.type\" must not be null\n")},
	    {TABLE("'columns':{'id':'','headers':7,'x':1},"
		   "'notify':'0123456789012345678901234567890123456789"
		   "012345678901234567890123'," PATH),
		WRONG("/sources/s/columns/id: must not be empty\n"
		      "/sources/s/columns/headers: must be a string\n"
		      "/sources/s/columns/x: there is no such member\n"
		      "/sources/s/notify: must have 1 to 63 bytes\n")},
	    {SOURCES("'s':{'broker':'p','table':"
		     "'a.01234567890123456789012345678901234567890123456789"
		     "01234567'," PATH "}"),
		WRONG("")},
	    {SOURCES("'s':{'broker':'p','table':"
		     "'a.01234567890123456789012345678901234567890123456789"
		     "012345678'," PATH "}"),
		WRONG("/sources/s/table: \"dead_letters\" is needed too: "
		      "\"a.01234567890123456789012345678901234567890123456789"
		      "012345678_dead\" is too long\n")},
	    {TABLE("'finish':'keep'," PATH),
		WRONG("/sources/s/finish: must be \"delete\" or {\"set\": "
		      "COLUMN}\n")},
	    {TABLE("'finish':{'to':'x'}," PATH),
		WRONG("/sources/s/finish: \"set\" is missing\n"
		      "/sources/s/finish: \"from\" is missing: a column that "
		      "tells by its value which rows are unread needs both\n")},
	    {TABLE("'finish':{'set':'s','from':1}," PATH),
		WRONG("/sources/s/finish: \"to\" is missing: a column that "
		      "tells by its value which rows are unread needs both\n")},
	    {TABLE("'finish':{'set':'s','from':1,'to':1}," PATH),
		WRONG("/sources/s/finish: \"from\" and \"to\" are the same: "
		      "every row would be read again and again\n")},
	    {TABLE("'finish':{'sat':'s'}," PATH),
		WRONG("/sources/s/finish: \"set\" is missing\n"
		      "/sources/s/finish/sat: there is no such member; did you "
		      "mean \"set\"?\n")},
	    {TABLE("'finish':{'set':'payload'}," PATH),
		WRONG("/sources/s/finish: the message itself is in the column "
		      "\"payload\"\n")},
	    {STREAM("'start':'now','in_flight':10001,'hold':'0s',"
		    "'retry':{'attempts':0},'refused':'drop',"
		    "'keep_dead':1000001,'behind':1," PATH),
		WRONG("/sources/s/start: must be \"earliest\" or \"latest\"\n"
		      "/sources/s/in_flight: must be between 1 and 10000\n"
		      "/sources/s/hold: must be between 1ms and 3650d\n"
		      "/sources/s/retry/attempts: must be between 1 and "
		      "1000000\n"
		      "/sources/s/refused: must be \"dead-letter\" or "
		      "\"ack\"\n"
		      "/sources/s/keep_dead: must be between 1 and "
		      "1000000\n"
		      "/sources/s/behind: must be \"park\" or "
		      "\"go-on\", not 1\n")},
	    {STREAM("'nulls':'send'," PATH),
		WRONG("/sources/s/nulls: only a source of PostgreSQL or Kafka "
		      "has this\n")},
	    {STREAM("'retry':{'first':'6m'}," PATH),
		WRONG("/sources/s/retry/first: must not be longer than "
		      "\"retry.most\"\n")},
	    {STREAM("'key':'none','order_by':'x'," PATH),
		"/sources/s/key: must be \"auto\" or \"position\", or "
		"{\"header\": NAME}, or a list of JSON pointers like "
		"[\"/order_id\"]\n"
		"/sources/s/order_by: must be \"none\", \"partition\", "
		"\"key\" or \"entity\", or {\"header\": NAME}, or a list "
		"of JSON pointers like [\"/order_id\"]\n"},
	    {STREAM("'key':[],'order_by':['a']," PATH),
		"/sources/s/key: must not be empty\n"
		"/sources/s/order_by/0: must be a JSON pointer like "
		"\"/order_id\" or \"/order/id\"\n"},
	    {STREAM("'key':{'header':'a b'},'order_by':{'field':'x'}," PATH),
		WRONG("/sources/s/key/header: must be the name of a header\n"
		      "/sources/s/order_by: \"header\" is missing\n"
		      "/sources/s/order_by/field: there is no such member\n")},
	    {STREAM("'results':'out','dead_letters':{'table':'t'}," PATH),
		WRONG("/sources/s/results: must be {\"stream\": NAME}, "
		      "{\"table\": NAME} or {\"topic\": NAME}; did you "
		      "mean {\"stream\": \"out\"}?\n"
		      "/sources/s/dead_letters: must be {\"stream\": NAME}\n")},
	    {TABLE("'results':{'stream':'s'},"
		   "'dead_letters':{'table':'t','stream':'s'}," PATH),
		WRONG("/sources/s/results: must be {\"table\": NAME}\n"
		      "/sources/s/dead_letters: must be {\"table\": NAME}\n"
		      "/sources/s/dead_letters/stream: there is no such "
		      "member\n")},
	};
	ASSERT_ALL_WRONG(list);
}

static void
what_is_wrong_with_a_request(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {REQUEST("'method':'post'"),
		WRONG("/sources/s/request: \"path\" is missing\n"
		      "/sources/s/request/method: must be in upper case; "
		      "did you mean \"POST\"?\n")},
	    {REQUEST("'path':'v1/{json:/a}'"),
		WRONG("/sources/s/request/path: must begin with \"/\"\n")},
	    {REQUEST("'path':'/v1/{json:a}/charges'"),
		WRONG("/sources/s/request/path: {json:…} must have a JSON "
		      "pointer like {json:/order_id}\n")},
	    {REQUEST("'path':'/v1/{header:a b}/charges'"),
		WRONG("/sources/s/request/path: {header:…} must have the name "
		      "of a header\n")},
	    {REQUEST("'path':'/v1/{path:a}/charges'"),
		"/sources/s/request/path: there is no variable {path:a} "
		"here, but {key}, {json:/pointer} (of the body), "
		"{header:NAME}, {entity}, {type} and {id}\n"},
	    {REQUEST("'path':'/v1/../{id}/charges'"),
		WRONG("/sources/s/request/path: must not have \".\" or \"..\" "
		      "as a segment\n")},
	    {REQUEST("'path':'/v1/a%2fb{id}/charges'"),
		WRONG("/sources/s/request/path: must not have \"%2F\" or "
		      "\"%2E\"\n")},
	    {REQUEST("'path':'/v1/{key}{entity}{type}/charges'"),
		WRONG("/sources/s/request/path: {key}: the messages of this "
		      "broker have no key\n"
		      "/sources/s/request/path: {entity}: only the rows of a "
		      "table have one\n"
		      "/sources/s/request/path: {type}: only the rows of a "
		      "table have one\n")},
	    {TABLE("'request':{'path':'/v1/{type}/charges',"
		   "'headers':{'X-A':'{header:a}'}}"),
		WRONG("/sources/s/request/headers/X-A: {header:NAME}: "
		      "\"columns.headers\" is needed too\n")},
	    {REQUEST("'path':'/v1/{id}/charges','headers':{'a b':'x',"
		     "'Host':'x','X-Request-Id':'x','content-type':'x',"
		     "'X-A':'','X-a':'y','X-B':'\\n','X-C':' x','X-D':7,"
		     "'X-E':'{'}"),
		"/sources/s/request/headers/a b: must be the name of a "
		"header, without a colon or a blank\n"
		"/sources/s/request/headers/Host: this header belongs to "
		"the connection, not to the request\n"
		"/sources/s/request/headers/X-Request-Id: the gateway "
		"removes this header or writes it itself\n"
		"/sources/s/request/headers/content-type: this header is "
		"\"request.content_type\"\n"
		"/sources/s/request/headers/X-A: must not be empty\n"
		"/sources/s/request/headers/X-a: appears twice\n"
		"/sources/s/request/headers/X-B: must not contain control "
		"characters\n"
		"/sources/s/request/headers/X-C: must not begin or end "
		"with a blank\n"
		"/sources/s/request/headers/X-D: must be a string\n"
		"/sources/s/request/headers/X-E: has a brace without its "
		"other one\n"},
	    {REQUEST("'path':'/v1/{id}/charges','headers':[],'body':'x',"
		     "'content_type':'','cloudevents':'structured'"),
		WRONG("/sources/s/request/headers: must be an object\n"
		      "/sources/s/request/body: must be an object like "
		      "{\"field\": ...}\n"
		      "/sources/s/request/content_type: must not be empty\n"
		      "/sources/s/request/cloudevents: must be \"binary\"\n")},
	    {STREAM("'key':{'header':'a'},'order_by':'key'," PATH),
		WRONG("/sources/s/order_by: the messages of this broker have "
		      "no key\n")},
	    {TABLE("'max_age':'1h'," PATH),
		WRONG("/sources/s/max_age: \"columns.order\" is needed too, a "
		      "timestamptz: nothing else says how old a row is\n")},
	    {STREAM("'order_by':'entity'," PATH),
		WRONG("/sources/s/order_by: only the rows of a table have an "
		      "entity\n")},
	    {TABLE("'key':{'header':'a'},'order_by':{'header':'a'}," PATH),
		WRONG("/sources/s/key: \"columns.headers\" is needed too\n"
		      "/sources/s/order_by: \"columns.headers\" is needed "
		      "too\n")},
	};
	ASSERT_ALL_WRONG(list);
}

/* Around routes and the path that a source asks for. */
#define LED(routes, path) \
	FILE_WITH("'routes':[" routes "]", QUEUE, \
	    "'s':{'broker':'q','stream':'in','request':{'path':'" path "'}}")
#define ROUTE(name, path, members) \
	"{'name':'" name "','path':'" path "','upstream':'u'" members "}"
#define ONCE ",'idempotency':{'scope':[]}"
#define NO_ROUTE "/sources/s/request/path: no route serves it\n"
#define PASSED(name) \
	"/sources/s/request/path: the route \"" name "\" may serve it, which " \
	"is not idempotent\n"

static void
a_path_leads_to_idempotent_routes_only(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {LED("", "/a"), NO_ROUTE},
	    {LED(ROUTE("r", "/a", ONCE), "/b"), NO_ROUTE},
	    {LED(ROUTE("r", "/a", ONCE), "/a/{id}"), NO_ROUTE},
	    {LED(ROUTE("r", "/a/{x}", ONCE), "/a"), NO_ROUTE},
	    {LED(ROUTE("r", "/a", ONCE ",'methods':['PUT']"), "/a"), NO_ROUTE},
	    {LED(ROUTE("r", "/a", ""), "/a"), PASSED("r")},
	    {LED(ROUTE("r", "/a/ping", "") "," ROUTE("s", "/a/{x}", ONCE),
		 "/a/{id}"), PASSED("r")},
	    {LED(ROUTE("r", "/a/b", ONCE) "," ROUTE("s", "/*", ""),
		 "/a/{id}"), PASSED("s")},
	    {LED(ROUTE("r", "/a/xby", ""), "/a/x{id}y"), PASSED("r")},
	    {LED(ROUTE("r", "/a/xy", ""), "/a/x{id}y"), NO_ROUTE},
	    {LED(ROUTE("r", "/a/xyxyz", ""), "/a/{id}xyz"), PASSED("r")},
	    {LED(ROUTE("r", "/a/x", ""), "/a/{id}{json:/b}"), NO_ROUTE},
	    {LED(ROUTE("r", "/a/b", "") "," ROUTE("s", "/a/c", ONCE),
		 "/%61/c/"), ""},
	    {LED(ROUTE("r", "/a/b/c", "") "," ROUTE("s", "/a/*", ONCE),
		 "/a/{id}"), ""},
	    {LED(ROUTE("r", "/a", ONCE) "," ROUTE("s", "/*", ""),
		 "/a?b={json:/c}"), ""},
	    {LED(ROUTE("r", "/", ONCE), "/"), ""},
	    {LED(ROUTE("r", "/*", ONCE), "/"), ""},
	    {LED(ROUTE("r", "/a/b", ONCE), "/a/{id}"), ""},
	};
	ASSERT_ALL_WRONG(list);
}

/* Around the policy of the route, defaults, and more of the source. */
#define POLICY(defaults, policy, members) \
	FILE_WITH("'defaults':{" defaults "},'routes':[{'name':'r'," \
		  "'path':'/a','upstream':'u','idempotency':{" policy "}}]", \
	    QUEUE, "'s':{'broker':'q','stream':'in'," members "}")
#define A "'request':{'path':'/a'}"
#define A_WITH(headers) "'request':{'path':'/a','headers':{" headers "}}"

static void
a_route_for_messages_keeps_the_promise_and_remembers(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {POLICY("", "'scope':[],'on_store_down':'forward'", A),
		"/sources/s/request/path: the route \"r\" may serve it, which "
		"forwards without the promise (\"on_store_down\")\n"},
	    {POLICY("", "'scope':[],'scope_missing':'forward'", A),
		"/sources/s/request/path: the route \"r\" may serve it, which "
		"forwards what names no tenant (\"scope_missing\")\n"},
	    {POLICY("", "'scope':[{'path':'x'}]", A),
		"/routes/0/idempotency/scope/0/path: "
		"route \"r\": the path of the route has no "
		"{x}\n"},
	    {POLICY("", "'scope':[{'basic':'user'}]", A),
		"/sources/s/request/headers: \"Authorization\" is missing, "
		"which is in the scope of the route \"r\"\n"},
	    {POLICY("", "'scope':['authorization',{'basic':'user'}]", A),
		"/sources/s/request/headers: \"authorization\" is missing, "
		"which is in the scope of the route \"r\"\n"},
	    {POLICY("", "'scope':[{'basic':'user'},'A-A']", A),
		"/sources/s/request/headers: \"Authorization\" is missing, "
		"which is in the scope of the route \"r\": one of its entries "
		"is enough\n"
		"/sources/s/request/headers: \"A-A\" is missing, which is in "
		"the scope of the route \"r\": one of its entries is "
		"enough\n"},
	    {POLICY("", "'scope':[{'basic':'user'},'A-A']",
		 A_WITH("'a-a':'x'")), ""},
	    {POLICY("", "'scope':[],'max_request_body':'65MiB'", A),
		"/sources/s/request/path: the route \"r\" may serve it, whose "
		"\"max_request_body\" is more than a quarter of "
		"\"limits.in_flight_bytes\"\n"},
	    {POLICY("", "'scope':[],'max_request_body':'64MiB'", A), ""},
	    {POLICY("", "", A),
		"/sources/s/request/headers: \"Authorization\" is missing, "
		"which is in the scope of the route \"r\"\n"},
	    {POLICY("", "'scope':['A-A','B-B']", A_WITH("'b-b':'x'")),
		"/sources/s/request/headers: \"A-A\" is missing, which is in "
		"the scope of the route \"r\"\n"},
	    {POLICY("", "'scope':[],'header':'A-Key'",
		 A_WITH("'a-key':'{id}','idempotency-attempt':'1'")),
		"/sources/s/request/headers/a-key: this header is for the key "
		"of the route \"r\": \"key\" says what it is\n"
		"/sources/s/request/headers/idempotency-attempt: this header "
		"is for the attempt of the route \"r\"\n"},
	    {POLICY("", "'scope':[],'retention':'6d'", A),
		"/routes/0/idempotency/retention: the source \"s\" leads to "
		"the route \"r\", which must remember for 7d at least\n"},
	    {POLICY("'retention':'24h'", "'scope':[]", A),
		"/defaults/retention: the source \"s\" leads to the route "
		"\"r\", which must remember for 7d at least\n"},
	    {POLICY("'retention':'24h'", "'scope':[],'retention':'7d'", A),
		""},
	    {POLICY("", "'scope':[]", "'max_age':'8d'," A),
		"/sources/s/max_age: must not be longer than the \"retention\" "
		"of the route \"r\"\n"},
	    {POLICY("", "'scope':[],'retention':'8d'", "'max_age':'8d'," A),
		""},
	    {POLICY("", "'scope':[],'retention':'2d'", "'max_age':'3d'," A),
		"/routes/0/idempotency/retention: the source \"s\" leads to "
		"the route \"r\", which must remember for 7d at least\n"},
	    {POLICY("'unknown_retention':'1 hour'", "'scope':[]",
		 "'hold':'40d'," A),
		"/defaults/unknown_retention: must be a duration like "
		"\"250ms\", \"30s\", \"5m\", \"24h\" or \"30d\"\n"},
	    {POLICY("", "'scope':[],'unknown_retention':'1h'",
		 "'hold':'2h'," A),
		"/sources/s/hold: must not be longer than the "
		"\"unknown_retention\" of the route \"r\"\n"},
	    {POLICY("", "'scope':[],'header':[],'derive_key':['/x']", A),
		"/sources/s/key: the route \"r\" takes no keys (\"header\" is "
		"empty): a list of pointers is needed here\n"},
	    {POLICY("", "'scope':[],'header':[],'derive_key':['/x']",
		 "'key':['/x']," A), ""},
	    {POLICY("", "'scope':[],'on_unknown':{'reconcile':'/b/{key}'}",
		 "'key':['/x']," A),
		"/sources/s/key: the route \"r\" asks its upstream by a key "
		"that it never sees: \"send_derived\" is needed there\n"},
	    {POLICY("", "'scope':[],'on_unknown':{'reconcile':'/b/{key}'},"
			"'send_derived':true", "'key':['/x']," A), ""},
	    {POLICY("", "'scope':[],'on_unknown':{'reconcile':'/b/{key}'}",
		 A), ""},
	};
	ASSERT_ALL_WRONG(list);
	const struct conf *conf = try_conf(POLICY("", "'scope':[]", A));
	assert_int_equal(conf->routes[0].idempotency->retention_ms,
	    INT64_C(7) * 86400000);
	assert_int_equal(conf->defaults->retention_ms, 86400000);
	conf_unref(&conf);
}

#define TWO(a, b) SOURCES("'a':{" a "," PATH "},'b':{" b "," PATH "}")

static void
no_source_reads_what_another_one_reads_or_puts_there(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {STREAM("'results':{'stream':'in'}," PATH),
		WRONG("/sources/s/results: \"in\" is read by the source "
		      "\"s\"\n")},
	    {STREAM("'dead_letters':{'stream':'in'}," PATH),
		WRONG("/sources/s/dead_letters: \"in\" is read by the source "
		      "\"s\"\n")},
	    {STREAM("'results':{'stream':'in:dead'}," PATH),
		WRONG("/sources/s/results: \"in:dead\" has the dead letters of "
		      "\"s\"\n")},
	    {TWO("'broker':'q','stream':'x'",
		 "'broker':'q2','stream':'x:dead'"),
		WRONG("/sources/a/dead_letters: \"x:dead\" is read by the "
		      "source \"b\"\n")},
	    {TWO("'broker':'q','stream':'x'", "'broker':'q2','stream':'x'"),
		WRONG("/sources/b/stream: \"x\" is read already, by the same "
		      "group, by the source \"a\"\n")},
	    {TWO("'broker':'p','table':'x'", "'broker':'p','table':'public.x'"),
		WRONG("/sources/b/table: \"public.x\" is read already by the "
		      "source \"a\"\n")},
	    {TWO("'broker':'q','stream':'x'",
		 "'broker':'q','stream':'y','results':{'stream':'x:dead'}"),
		WRONG("/sources/b/results: \"x:dead\" has the dead letters of "
		      "\"a\"\n")},
	    {TWO("'broker':'q','stream':'x'",
		 "'broker':'q','group':'g','stream':'x'"), WRONG("")},
	    {TWO("'broker':'q','stream':'x'", "'broker':'other','stream':'x'"),
		WRONG("")},
	    {TWO("'broker':'q','stream':'x','dead_letters':{'stream':'d'}",
		 "'broker':'q','stream':'y','dead_letters':{'stream':'d'}"),
		WRONG("")},
	};
	ASSERT_ALL_WRONG(list);
}

#define BESIDE_STORE(store, members) \
	"{" TRY_LISTEN "," TRY_UPSTREAMS "," ROUTES "," BROKERS ",'store':{" \
	store "},'sources':{'s':{" members "," PATH "}}}"

static void
no_source_reads_or_writes_what_is_the_stores_own(void **state)
{
	(void)state;
#define HERE "'redis':'redis://h'"
	static const struct wrong list[] = {
	    {BESIDE_STORE(HERE, "'broker':'q','stream':'onceproxy:{0}:events'"),
		WRONG("/sources/s/stream: \"onceproxy:{0}:events\" is one of "
		      "the store's own keys\n")},
	    {BESIDE_STORE(HERE ",'prefix':'p'",
		 "'broker':'q','stream':'in',"
		 "'results':{'stream':'p:{12}:dead'}"),
		WRONG("/sources/s/results: \"p:{12}:dead\" is one of the "
		      "store's own keys\n")},
	    {BESIDE_STORE(HERE, "'broker':'other','stream':'"
				"onceproxy:{0}:events'"), WRONG("")},
	    {BESIDE_STORE(HERE, "'broker':'q','stream':'onceproxy:events'"),
		WRONG("")},
	    {BESIDE_STORE(HERE, "'broker':'q','stream':'onceproxy:{}:e'"),
		WRONG("")},
	    {BESIDE_STORE(HERE, "'broker':'q','stream':'once:{0}:events'"),
		WRONG("")},
	};
	ASSERT_ALL_WRONG(list);
}

#define CLUSTER(stream, members) \
	SOURCES("'s':{'broker':'c','stream':'" stream "'" members "," PATH "}")

static void
on_a_cluster_what_is_put_shares_the_slot_of_the_stream(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {CLUSTER("in", ""),
		WRONG("/sources/s/dead_letters: on a cluster \"in:dead\" must "
		      "share the slot of the stream, as \"{in}:dead\" does\n")},
	    {CLUSTER("{in}", ""), WRONG("")},
	    {CLUSTER("{in}", ",'results':{'stream':'out'}"),
		WRONG("/sources/s/results: on a cluster \"out\" must share the "
		      "slot of the stream, as \"{in}:results\" does\n")},
	    {CLUSTER("in", ",'dead_letters':{'stream':'x{in}'}"), WRONG("")},
	    {CLUSTER("{}in", ",'dead_letters':{'stream':'{}'}"),
		WRONG("/sources/s/dead_letters: on a cluster \"{}\" must share "
		      "the slot of the stream, as \"{TAG}:dead\" of a stream "
		      "\"{TAG}\" does\n")},
	};
	ASSERT_ALL_WRONG(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_left_out_of_a_stream_has_its_default),
	    cmocka_unit_test(what_is_said_of_a_stream_is_filled_in),
#ifdef HAVE_POSTGRES
	    cmocka_unit_test(
		a_table_has_the_columns_of_debezium_unless_it_says_others),
#endif
	    cmocka_unit_test(a_broker_of_redis_is_reached_as_the_store_is),
	    cmocka_unit_test(
		a_gateway_has_the_hosts_name_unless_it_says_another),
	    cmocka_unit_test(what_is_wrong_with_a_broker),
	    cmocka_unit_test(a_uri_of_postgres_is_read_with_care),
	    cmocka_unit_test(what_is_wrong_with_one_member),
	    cmocka_unit_test(what_is_wrong_with_a_request),
	    cmocka_unit_test(a_path_leads_to_idempotent_routes_only),
	    cmocka_unit_test(
		a_route_for_messages_keeps_the_promise_and_remembers),
	    cmocka_unit_test(
		no_source_reads_what_another_one_reads_or_puts_there),
	    cmocka_unit_test(
		no_source_reads_or_writes_what_is_the_stores_own),
	    cmocka_unit_test(
		on_a_cluster_what_is_put_shares_the_slot_of_the_stream),
	};
	return cmocka_run_group_tests_name("conf_source", tests, NULL, NULL);
}
