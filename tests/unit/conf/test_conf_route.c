/* SPDX-License-Identifier: BSD-2-Clause */
#include "conf_try.h"

#define WORDS_OURS \
	"this header belongs to the connection, not to the request\n"
#define WORDS_WRITTEN \
	"the gateway removes this header or writes it itself: it cannot tell " \
	"tenants apart\n"

static void
paths_are_taken_apart(void **state)
{
	(void)state;
	static const struct {
		const char *path;
		const char *kinds; /* t text, a any, r rest */
	} paths[] = {{"/", ""}, {"/*", "r"}, {"/v1/charges", "tt"},
	    {"/v1/{id}/x", "tat"}, {"/{a}/{b-2}/*", "aar"},
	    {"/caf\xc3\xa9 x/;y", "tt"}, {"/a /b ", "tt"}};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
		char *text =
		    mem_printf(TRY_ROUTE("'path':'%s'"), paths[i].path);
		const struct conf *conf = try_conf(text);
		const struct conf_route *route = &conf->routes[0];
		assert_string_equal(route->name, paths[i].path);
		assert_int_equal(route->n_segments, strlen(paths[i].kinds));
		for (size_t j = 0; j < route->n_segments; j++) {
			const struct conf_segment *s = &route->segments[j];
			assert_int_equal("tar"[s->kind], paths[i].kinds[j]);
			/* A blank is a part of it. */
			if (s->kind == SEGMENT_TEXT)
				assert_non_null(
				    strchr("/", s->text.ptr[s->text.len]));
		}
		conf_unref(&conf);
		free(text);
	}
}

static void
lists_and_pointers_are_taken_apart(void **state)
{
	(void)state;
	const struct conf *conf =
	    try_conf(TRY_POLICY("'header':['A','B'],'scope':[],"
				"'derive_key':['/order_id','/a~1b/~0c//'],"
				"'fingerprint':{'include':['body'],"
				"'ignore':['/ts']},"
				"'omit_headers':['Set-Cookie'],"
				"'replay_header':'','attempt_header':'',"
				"'required':false,'send_derived':true,"
				"'on_unknown':{'reconcile':'/k/{key}?a=1'}"));
	const struct conf_idempotency *p = conf->routes[0].idempotency;
	assert_int_equal(p->headers.count, 2);
	assert_string_equal(p->headers.list[1], "B");
	assert_int_equal(p->scope.count, 0);
	assert_int_equal(p->derive_from.count, 2);
	const struct json_pointer *pointer = &p->derive_from.list[1];
	assert_int_equal(pointer->count, 4);
	assert_true(span_eq(pointer->segments[0], SPAN("a/b")));
	assert_true(span_eq(pointer->segments[1], SPAN("~c")));
	assert_true(span_eq(pointer->segments[2], SPAN("")));
	assert_true(span_eq(pointer->segments[3], SPAN("")));
	assert_int_equal(p->fingerprint_include, FINGERPRINT_BODY);
	assert_true(p->fingerprint_json);
	assert_int_equal(p->omit_headers.count, 1);
	assert_string_equal(p->replay_header, "");
	assert_string_equal(p->attempt_header, "");
	assert_false(p->required);
	assert_int_equal(p->on_unknown, UNKNOWN_RECONCILE);
	assert_string_equal(p->reconcile.path.text, "/k/{key}?a=1");
	conf_unref(&conf);

	conf = try_conf(TRY_POLICY("'header':'PayPal-Request-Id',"
				   "'derive_key':'body'"));
	p = conf->routes[0].idempotency;
	assert_int_equal(p->headers.count, 1);
	assert_string_equal(p->headers.list[0], "PayPal-Request-Id");
	assert_true(p->derive_from_body);
	conf_unref(&conf);
}

#define PATH(path) TRY_ROUTE("'path':'" path "'")

static void
routes_are_checked(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_FILE("'defaults':1"),
		"/defaults: must be an object like {\"header\": ...}; {} has "
		"all the defaults\n"},
	    {"{" TRY_LISTEN "," TRY_UPSTREAMS ",'routes':{}}",
		"/routes: must be a list like [{...}, {...}]\n"},
	    {"{" TRY_LISTEN "," TRY_UPSTREAMS ",'routes':['/']}",
		"/routes/0: must be an object like {\"path\": ...}\n"},
	    {PATH(""), "/routes/0/path: must not be empty\n"},
	    {PATH("/x/"), "/routes/0/path: must not end with \"/\"\n"},
	    {PATH("/x//y"),
		"/routes/0/path: must not have two slashes in a row\n"},
	    {PATH("/x/../y"), "/routes/0/path: must not have \".\" or \"..\" "
			      "as a segment\n"},
	    {PATH("/%41"),
		"/routes/0/path: must not have \"%\": paths are matched after "
		"decoding\n"},
	    {PATH("/x?y"), "/routes/0/path: must not have \"?\", \"#\" or "
			   "\"\\\"\n"},
	    {PATH("/x{id}"),
		"/routes/0/path: {x} must be a whole segment\n"},
	    {PATH("/{}"), "/routes/0/path: {x} must be a whole segment\n"},
	    {TRY_ROUTE("'path':'/','methods':[]"),
		"/routes/0/methods: must not be empty\n"},
	    {TRY_ROUTE("'path':'/','methods':['post','A B','CONNECT',"
		       "'TRACE','PUT','PUT']"),
		"/routes/0/methods/0: must be in upper case; did you mean "
		"\"POST\"?\n"
		"/routes/0/methods/1: must be the name of a method, such "
		"as \"POST\"; several are a list\n"
		"/routes/0/methods/2: this method is never served\n"
		"/routes/0/methods/3: this method is never served\n"
		"/routes/0/methods/5: appears twice\n"},
	    {TRY_ROUTE("'path':'/','name':'-'"),
		"/routes/0/name: route \"-\": \"-\" stands for no route in the "
		"log\n"},
	    {"{" TRY_LISTEN "," TRY_UPSTREAMS
	     ",'routes':[{'path':'/a','upstream':'u','name':'n'},"
	     "{'path':'/b','upstream':'u','name':'n'},"
	     "{'path':'/c','upstream':'u','name':'/d'},"
	     "{'path':'/d','upstream':'u'}]}",
		"/routes/1/name: route \"n\": another route has this name: "
		"/routes/0\n"
		"/routes/2/name: route \"/d\": another route has this name: "
		"/routes/3\n"},
	};
	ASSERT_ALL_WRONG(list);
}

#define POLICY "/routes/0/idempotency"
#define WORDS_ENTITY "must be a list of JSON pointers or {\"path\": NAME}"
#define ON_UNKNOWN POLICY "/on_unknown"
#define WORDS_RECONCILE                                                       \
	"{\"path\": \"/v1/charges/by-key/{key}\", \"absent\": [404, 410]}"
#define WORDS_EXAMPLE                                                         \
	"{\"witness\": {\"broker\": NAME}}, or {\"reconcile\": "             \
	WORDS_RECONCILE "}"
#define WORDS_OBJECT                                                          \
	ON_UNKNOWN ": must be \"hold\", \"retry\" or an object: "             \
		   WORDS_EXAMPLE "\n"
#define RECONCILE(path) TRY_POLICY("'on_unknown':{'reconcile':'" path "'}")

static void
idempotency_is_checked(void **state)
{
	(void)state;
	static const struct wrong list[] = {
	    {TRY_ROUTE("'path':'/','idempotency':null"),
		POLICY ": must be an object like {\"header\": ...}; {} "
		       "has all the defaults\n"},
	    {TRY_POLICY("'header':[]"),
		POLICY "/header: no request would have a key: "
		"without a header \"derive_key\" is needed\n"},
	    {TRY_POLICY("'header':['A b','Host','X','x']"),
		"/routes/0/idempotency/header/0: must be the name of a "
		"header, without a colon or a blank\n"
		"/routes/0/idempotency/header/1: this header belongs to "
		"the connection, not to the request\n"
		"/routes/0/idempotency/header/3: appears twice\n"},
	    {TRY_POLICY("'scope':['transfer-encoding']"),
		POLICY "/scope/0: " WORDS_OURS},
	    {TRY_POLICY("'scope':['X-Forwarded-Host','Authorization',"
			"'x_forwarded_proto','X-Forwarded-Port','via',"
			"'X-Request-ID','Proxy-Authorization','Forwarded']"),
		POLICY "/scope/0: " WORDS_WRITTEN POLICY
		       "/scope/2: " WORDS_WRITTEN POLICY
		       "/scope/3: " WORDS_WRITTEN POLICY
		       "/scope/4: " WORDS_WRITTEN POLICY
		       "/scope/5: " WORDS_WRITTEN POLICY
		       "/scope/6: " WORDS_WRITTEN},
	    {TRY_POLICY("'scope':['Authorization','x_original_url']"),
		POLICY "/scope/1: x_original_url is dropped unless "
		       "\"trust_overrides\" of the upstream is true\n"},
	    {TRY_POLICY("'derive_key':[]"),
		"/routes/0/idempotency/derive_key: must be \"body\" or a "
		"list of JSON pointers like [\"/order_id\"]\n"},
	    {TRY_POLICY("'derive_key':['x','/~2','','/a','/a']"),
		"/routes/0/idempotency/derive_key/0: must be a JSON "
		"pointer like \"/order_id\" or \"/order/id\"\n"
		"/routes/0/idempotency/derive_key/1: in a JSON pointer, "
		"\"~\" is written \"~0\"\n"
		"/routes/0/idempotency/derive_key/2: must be a JSON "
		"pointer like \"/order_id\" or \"/order/id\"\n"
		"/routes/0/idempotency/derive_key/4: appears twice\n"},
	    {TRY_POLICY("'namespace':''"),
		POLICY "/namespace: must not be empty\n"},
	    {TRY_POLICY("'fingerprint':{'include':['method','head']}"),
		POLICY "/fingerprint/include/1: must be \"method\", "
		       "\"path\", \"query\" or \"body\"\n"},
	    {TRY_POLICY("'outcomes':{'600':'store','1xx':'store','5x':"
			"'store','500':'keep','2xx':1}"),
		POLICY "/outcomes/600: must be a status from \"200\" to "
		       "\"599\" or a class from \"2xx\" to \"5xx\"\n" POLICY
		       "/outcomes/1xx: must be a status from \"200\" to "
		       "\"599\" or a class from \"2xx\" to \"5xx\"\n" POLICY
		       "/outcomes/5x: must be a status from \"200\" to "
		       "\"599\" or a class from \"2xx\" to \"5xx\"\n" POLICY
		       "/outcomes/500: must be \"store\", \"release\", "
		       "\"forget\" or \"unknown\"\n" POLICY
		       "/outcomes/2xx: must be \"store\", \"release\", "
		       "\"forget\" or \"unknown\", not 1\n"},
	    {TRY_POLICY("'on_unknown':'ask'"),
		WORDS_OBJECT},
	    {TRY_POLICY("'on_unknown':{}"),
		WORDS_OBJECT},
	    {TRY_POLICY("'on_unknown':{'path':'/x/{key}','absent':[404]}"),
		"/routes/0/idempotency/on_unknown/path: there is no such "
		"member here, only \"witness\" and \"reconcile\", as in "
		WORDS_EXAMPLE "\n"
		"/routes/0/idempotency/on_unknown/absent: there is no such "
		"member here, only \"witness\" and \"reconcile\", as in "
		WORDS_EXAMPLE "\n"},
	    {RECONCILE("x/{key}"),
		POLICY "/on_unknown/reconcile: must begin with \"/\"\n"},
	    {RECONCILE("/{id}/{key}"),
		"/routes/0/idempotency/on_unknown/reconcile: there is no "
		"variable {id} here, but {key}, {path:NAME} (of the path "
		"of the route), {json:/pointer} (of the body) and {scope:N} "
		"(an entry of the scope, from 0)\n"},
	    {RECONCILE("/}{key}"),
		ON_UNKNOWN "/reconcile: has a brace without its other one\n"},
	    {RECONCILE("/{key"),
		ON_UNKNOWN "/reconcile: has a brace without its other one\n"},
	    {RECONCILE("/{json:order_id}"),
		ON_UNKNOWN "/reconcile: {json:…} must have a JSON pointer "
			   "like {json:/order_id}\n"},
	    {RECONCILE("/{path:id}"),
		ON_UNKNOWN ": the path of the route has no {id}\n"},
	    {RECONCILE("/../{key}"),
		ON_UNKNOWN "/reconcile: must not have \".\" or \"..\" as a "
			   "segment\n"},
	    {TRY_POLICY("'on_unknown':{'reconcile':{}}"),
		ON_UNKNOWN "/reconcile: \"path\" is missing\n"},
	    {TRY_POLICY("'on_unknown':{'reconcile':[]}"),
		ON_UNKNOWN "/reconcile: must be a path, or an object with "
			   "one\n"},
	    {TRY_POLICY("'on_unknown':{'reconcile':{'path':'/{key}',"
			"'settle':'31d','absent':[404,200,'410'],"
			"'status':100,'x':1}}"),
		ON_UNKNOWN "/reconcile/settle: must be between 0s and 30d\n"
		ON_UNKNOWN "/reconcile/absent/1: must be a status from 300 "
			   "to 599\n"
		ON_UNKNOWN "/reconcile/absent/2: must be a number, without "
			   "quotes; did you mean 410?\n"
		ON_UNKNOWN "/reconcile/status: must be between 200 and 599\n"
		ON_UNKNOWN "/reconcile/x: there is no such member\n"},
	    {TRY_POLICY("'derive_key':'body','on_unknown':{'reconcile':"
			"'/{key}'}"),
		ON_UNKNOWN ": the upstream never sees a derived key: "
			   "\"send_derived\" is needed, or another variable "
			   "than {key}\n"},
	    {TRY_POLICY("'namespace':'a/{id}'"),
		POLICY "/namespace: the path of the route has no {id}\n"},
	    {TRY_POLICY("'namespace':'{a}-{b}'"),
		POLICY "/namespace: must have a \"/\" between two "
		       "variables\n"},
	    {TRY_POLICY("'entity':[]"), POLICY "/entity: " WORDS_ENTITY "\n"},
	    {TRY_POLICY("'entity':'/a'"),
		"/routes/0/idempotency/entity: must be a list of JSON "
		"pointers or {\"path\": NAME}\n"},
	    {TRY_POLICY("'entity':{}"),
		POLICY "/entity: \"path\" is missing\n"},
	    {TRY_POLICY("'entity':{'path':'id'}"),
		POLICY "/entity: the path of the route has no {id}\n"},
	    {TRY_POLICY("'serialize':true"),
		POLICY "/serialize: \"entity\" is needed too\n"},
	    {TRY_POLICY("'newer_only':'/version'"),
		POLICY "/newer_only: \"entity\" is needed too\n"},
	    {RECONCILE("/{key} HTTP/1.1"),
		POLICY "/on_unknown/reconcile: must consist of visible ASCII "
		       "without \"#\" and \"\\\"\n"},
	    {RECONCILE("/%g/{key}"),
		POLICY "/on_unknown/reconcile: \"%\" must begin a "
		       "percent-encoded byte other than %00\n"},
	    {TRY_POLICY("'attempt_header':'idempotency-key'"),
		POLICY ": \"attempt_header\" names a header of the key or the "
		       "scope\n"},
	    {TRY_POLICY("'omit_headers':['Content-Length']"),
		POLICY "/omit_headers/0: " WORDS_OURS},
	};
	ASSERT_ALL_WRONG(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(paths_are_taken_apart),
	    cmocka_unit_test(lists_and_pointers_are_taken_apart),
	    cmocka_unit_test(routes_are_checked),
	    cmocka_unit_test(idempotency_is_checked),
	};
	return cmocka_run_group_tests_name("conf_route", tests, NULL, NULL);
}
