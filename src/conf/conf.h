/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json_pointer.h"
#include "base/must.h"
#include "base/span.h"
#include "base/template.h"
#include "conf/api_preset.h"
#include "conf/scopes.h"

/*
 * The configuration as the program uses it: one immutable, counted object
 * made from the file (load/conf_load.h), checked whole and with every default
 * filled in.  It knows nothing of sockets, Redis or libcurl.  Any thread may
 * read it while it holds a reference; strings are NUL-terminated and belong
 * to it.  Durations are milliseconds, sizes are bytes.
 */

/* A list of strings. */
struct strings {
	char **list;
	size_t count;
};

struct gnutls_certificate_credentials_st;

/* What is spoken: forward secrecy and AEAD alone, in TLS 1.2 and 1.3. */
extern const char conf_tls_priorities[];
/* Certificates: of a server, or of a client of Redis. */
struct conf_tls {
	char *certificate; /* file names; of a client NULL: none is presented */
	char *key;
	/*
	 * The authorities of the other side; NULL: clients need no certificate,
	 * and servers one of the system's authorities.
	 */
	char *ca;
	/* When all of the chain is valid, in seconds since 1970. */
	int64_t valid_from_s;
	int64_t valid_until_s;
	/*
	 * What the files had when they were loaded; NULL: no TLS, or, of a
	 * Redis, in another place.
	 */
	struct gnutls_certificate_credentials_st *credentials;
};

enum address_kind { ADDRESS_TCP, ADDRESS_UNIX };

/* An address to listen on or to connect to. */
struct address {
	char *text; /* as the file has it, without user and password */
	enum address_kind kind;
	char *host; /* without brackets; "": all; the path of a Unix socket */
	uint16_t port;
};

struct conf_listen {
	struct address address;
	int64_t mode; /* of a Unix socket; 0: what the umask leaves */
	char *group;  /* NULL: the process's */
	/* From there connections begin with a header (PROXY protocol). */
	struct strings proxies;
	struct conf_tls tls;
};

struct conf_target {
	char *url; /* as the file has it */
	bool tls;
	char *host;      /* name or address, without brackets */
	char *authority; /* what the Host field says for host: "target" */
	uint16_t port;
	char *unix_path; /* of unix:/path; NULL for TCP */
	char *base_path; /* what stands before every path, "" for none */
};

enum upstream_reuse { REUSE_SAFE, REUSE_NEVER };
enum upstream_host { HOST_PRESERVE, HOST_TARGET };
enum upstream_forwarded { FORWARDED_SET, FORWARDED_TRUST };

struct conf_upstream {
	char *name;
	unsigned index; /* its place in conf->upstreams */
	struct conf_target *targets;
	size_t n_targets;
	int64_t connect_timeout_ms;
	int64_t timeout_ms;
	int64_t keepalive; /* idle connections per worker and target */
	enum upstream_reuse reuse;
	int64_t max_idle_ms;
	int64_t max_age_ms; /* no connection serves longer */
	bool close_delimited;
	enum upstream_host host;
	enum upstream_forwarded forwarded;
	bool trust_overrides;
	char *health_path; /* NULL: targets are not asked */
	int64_t health_interval_ms;
	char *ca;
	char *certificate;
	char *key;
};

enum key_format { KEY_ANY, KEY_UUID, KEY_QUOTED };
enum in_flight { IN_FLIGHT_REJECT, IN_FLIGHT_WAIT };
enum on_unknown {
	UNKNOWN_HOLD,
	UNKNOWN_RETRY,
	UNKNOWN_RECONCILE,
	UNKNOWN_WITNESS,
};
enum on_store_down { STORE_DOWN_REJECT, STORE_DOWN_FORWARD };

/* What becomes of a record by its upstream's answer. */
enum disposition {
	DISPOSITION_STORE,
	DISPOSITION_RELEASE,
	DISPOSITION_FORGET, /* as RELEASE; of a first attempt nothing stays */
	DISPOSITION_UNKNOWN,
};

enum fingerprint_part {
	FINGERPRINT_METHOD = 1,
	FINGERPRINT_PATH = 2,
	FINGERPRINT_QUERY = 4,
	FINGERPRINT_BODY = 8,
};

/* A field of a request that the gateway itself makes. */
struct conf_header {
	char *name;
	struct template value; /* of nothing where it is a secret */
	char *secret; /* NULL: none; of base/secret.h */
};

/* How the upstream is asked about an unknown outcome (GET). */
struct conf_reconcile {
	struct template path; /* with an optional query; of nothing: never */
	/* Sent in place of the scope's; none: these are a client's. */
	struct conf_header *headers;
	size_t n_headers;
	bool keys_unique; /* no two tenants have the same key there */
	int64_t settle_ms; /* so long it may still commit what it was sent */
	bool absent[600];  /* for each status: it did not happen */
	bool says_absent;  /* the file names them */
	int64_t status;    /* stored in place of the answer's; 0: its own */
};

/* The API's own PostgreSQL, where its transactions write what they did. */
struct conf_witness {
	const struct conf_broker *broker;
	char *table;     /* "SCHEMA.TABLE" or "TABLE" */
	int64_t wait_ms; /* for a transaction that has the row locked */
	int64_t status;  /* of a row that names none; 0: none */
	bool then_reconcile; /* of `started`: as reconcile says; else held */
	char *enforced_by; /* the API's table; NULL: nobody proves a row */
};

/* What a request changes: members of its body, or a segment of its path. */
struct conf_entity {
	struct json_pointers pointers;
	char *path; /* the name of a variable; NULL: the pointers, if any */
};

/* What a route may answer with another status. */
enum route_problem {
#define ROUTE_PROBLEM(name, type) ROUTE_PROBLEM_##name,
#include "tbl/route_problems.h"
#undef ROUTE_PROBLEM
	ROUTE_PROBLEM_COUNT_,
};
/* Their types. */
extern const char *const conf_route_problems[];

enum { CONF_MARK_BYTES = 6 };

struct conf_idempotency {
	struct strings headers; /* accepted key fields, one at least */
	bool required;
	bool derive_from_body;       /* derive_key: "body" */
	struct json_pointers derive_from; /* … a list; both off: none */
	bool send_derived;
	enum key_format key_format;
	int64_t max_length;
	int64_t min_length;
	struct conf_scopes scope;
	bool scope_missing_forward; /* scope_missing: "forward" */
	struct template namespace; /* of text and {NAME} of the path, or {*} */
	unsigned fingerprint_include; /* enum fingerprint_part, or-ed */
	struct strings fingerprint_headers;
	bool fingerprint_json; /* also true where ignore or only has some */
	struct json_pointers fingerprint_ignore;
	struct strings fingerprint_ignore_query; /* names of parameters */
	struct json_pointers fingerprint_only; /* none: all of it counts */
	struct conf_entity entity;
	struct json_pointer newer_only; /* to the version; no segments: none */
	bool serialize;
	bool label_key;         /* label: "key" */
	struct json_pointers labels; /* label: a list; both off: none */
	int64_t retention_ms;
	int64_t unknown_retention_ms;
	int64_t lease_ms;
	enum in_flight in_flight;
	int64_t wait_timeout_ms;
	/* For each status 200-599, defaults, classes and entries resolved. */
	uint8_t outcomes[600]; /* enum disposition */
	enum on_unknown on_unknown;
	/* Where it is UNKNOWN_RECONCILE, or the witness has then_reconcile. */
	struct conf_reconcile reconcile;
	struct conf_witness witness; /* where it is UNKNOWN_WITNESS */
	/*
	 * The API is told, in a way of this configuration, what it is asked by
	 * when an outcome is unknown; of what was sent without, it could only
	 * say that it knows nothing.  The mark stands for that way, and is
	 * zeros where it is not told: owners of what is sent begin with it
	 * (store/claim.h).
	 */
	bool tells;
	uint8_t mark[CONF_MARK_BYTES];
	int64_t max_attempts;
	enum on_store_down on_store_down;
	int64_t max_request_body;
	int64_t max_response_body;
	/* That may read answers; "*": all; none: answers say nothing of it. */
	struct strings cors_origins;
	int64_t cors_max_age_ms;
	struct strings omit_headers;
	enum api_preset preset; /* whose words the gateway's own answers have */
	int64_t problems[ROUTE_PROBLEM_COUNT_]; /* statuses; 0: the usual one */
	char *replay_header;  /* "" for none */
	char *attempt_header; /* "" for none */
	char *key_id_header;  /* the same; a witness has one always */
	bool echo_key;
	struct json_pointers replay_json; /* that a replay takes anew */
};

/* A segment of a route's path: literal text, {x} or the final star. */
enum segment_kind { SEGMENT_TEXT, SEGMENT_ANY, SEGMENT_REST };

struct conf_segment {
	enum segment_kind kind;
	struct span text; /* of {x}: x */
};

/* Who answers what comes to a path. */
enum route_kind {
	ROUTE_UPSTREAM,
	ROUTE_STATUS, /* we do: what became of the key in the path */
	ROUTE_POLICY, /* we do: what the route's idempotency is */
};

struct conf_route {
	char *name; /* its path where the file has none: may repeat then */
	unsigned index; /* its place in conf->routes */
	enum route_kind kind;
	struct strings methods; /* none: all */
	char *path;
	struct conf_segment *segments;
	size_t n_segments;
	const struct conf_upstream *upstream;
	/* NULL: plain pass-through. */
	const struct conf_idempotency *idempotency;
	bool observes; /* mode: "observe", all is passed through */
	/*
	 * Of ROUTE_UPSTREAM: where GET asks about its keys and its policy, or
	 * NULL.  These have paths of their own; all else is the route's.
	 */
	struct conf_route *status;
	struct conf_route *policy;
};

/* Who may use the admin interface, besides those with its one token. */
struct conf_admin_token {
	char *name;
	unsigned index; /* its place in conf->admin_tokens */
	char *token;    /* of base/secret.h */
	bool read_only;
};

enum { CONF_ENCRYPTION_KEY_BYTES = 32 };
enum log_level_option { CONF_DEBUG, CONF_INFO, CONF_WARN, CONF_ERROR };

struct swappable;

/* TLS on the connections to a Redis. */
struct conf_redis_tls {
	bool on;
	struct conf_tls files;
	char *server_name; /* NULL: as its host is named */
	/*
	 * GnuTLS' of what the files had when they were loaded; a reload renews
	 * those of the configuration that is running.  NULL: no TLS.
	 */
	struct swappable *credentials;
	uint8_t digest[16]; /* of what the files had */
};

/* Who logs in to a Redis; NULL: nobody has such a thing. */
struct conf_login {
	char *user;
	char *password; /* of base/secret.h */
};

/* Where a Redis is, and how to log in to it. */
struct conf_redis {
	bool managed;           /* the private one, of the store alone */
	struct address address; /* unless managed */
	int64_t db;
	struct strings cluster;
	struct strings sentinels;
	char *master;
	char *user;     /* NULL: none; also from the URL */
	/* NULL: none; of base/secret.h.  Of a broker: its own password. */
	char *password;
	/*
	 * Of the store, where there is a password, the two as a struct
	 * conf_login, which a reload renews in the configuration that is
	 * running; else NULL.
	 */
	struct swappable *login;
	struct conf_login url; /* what the URL says, which no member may */
	/* The login stands in a URL that itself stands elsewhere ("file"). */
	bool login_elsewhere;
	int64_t timeout_ms;
	struct conf_redis_tls tls;
};

struct conf_store {
	struct conf_redis redis;
	char *prefix;
	int64_t shards;
	bool functions; /* scripting: "function" */
	int64_t wait_replicas;
	int64_t wait_timeout_ms;
	int64_t events_maxlen; /* 0: no events */
	bool events_refuse;    /* overflow: "refuse" */
	char *secret;          /* NULL: none; of base/secret.h */
	bool allow_eviction;
	bool compression; /* zstd */
	struct conf_encryption_key {
		char *id;
		uint8_t *key; /* CONF_ENCRYPTION_KEY_BYTES, of base/secret.h */
	} *encryption_keys;
	size_t n_encryption_keys;
	bool encryption_strict; /* plain answers do not open */
};

/* --- brokers and sources --- */

enum broker_kind {
	BROKER_STREAMS,
	BROKER_POSTGRES,
	BROKER_KAFKA,
	BROKER_KIND_COUNT_,
};

/* A setting of librdkafka. */
struct conf_setting {
	char *name;
	char *value; /* of base/secret.h */
	bool shown;  /* it is no secret */
};

struct conf_settings {
	struct conf_setting *list;
	size_t count;
};

struct conf_broker {
	char *name;
	unsigned index; /* its place in conf->brokers */
	enum broker_kind kind;
	struct conf_redis redis; /* of BROKER_STREAMS */
	/* The URI without its password; NULL unless BROKER_POSTGRES. */
	char *postgres;
	struct strings kafka; /* HOST:PORT; of none unless BROKER_KAFKA */
	struct conf_settings settings; /* the same */
	char *password; /* NULL: none; of base/secret.h */
};

struct conf_columns {
	char *id, *entity, *type, *payload;
	char *headers; /* NULL: none */
	char *order;   /* NULL: the id */
};

/* What becomes of a finished row. */
struct conf_finish {
	char *column; /* that is set; NULL: the row is deleted */
	/*
	 * The column's value in an unread row, and in a finished one; NULL,
	 * both: null, and the present time.
	 */
	char *from;
	char *to;
};

enum source_key {
	SOURCE_KEY_AUTO,
	SOURCE_KEY_POSITION,
	SOURCE_KEY_POINTERS,
	SOURCE_KEY_HEADER,
};
enum source_order {
	SOURCE_ORDER_NONE,
	SOURCE_ORDER_PARTITION,
	SOURCE_ORDER_KEY, /* Kafka's */
	SOURCE_ORDER_ENTITY,
	SOURCE_ORDER_POINTERS,
	SOURCE_ORDER_HEADER,
};
/* What becomes of a message without a value. */
enum source_nulls { NULLS_DEAD_LETTER, NULLS_ACK, NULLS_SEND };

struct conf_source {
	char *name;
	unsigned index; /* its place in conf->sources */
	const struct conf_broker *broker;
	char *stream; /* of a Redis stream, else NULL */
	char *table;  /* "SCHEMA.TABLE" or "TABLE", else NULL */
	struct strings topics; /* of Kafka; else none */
	struct conf_columns columns;
	struct conf_finish finish;
	char *notify; /* NULL: no channel */
	int64_t poll_ms;
	char *group;
	bool start_latest;
	struct {
		char *method;
		struct template path;
		struct conf_header *headers;
		size_t n_headers;
		char *body_field; /* NULL: `body` where there is one */
		char *content_type; /* NULL: the message's own */
		bool cloudevents;
	} request;
	enum source_key key;
	struct json_pointers key_pointers;
	char *key_header;
	enum source_order order_by;
	struct json_pointers order_pointers;
	char *order_header;
	int64_t in_flight;
	int64_t retry_first_ms;
	int64_t retry_most_ms;
	int64_t retry_attempts;
	int64_t hold_ms;
	bool refused_ack; /* refused: "ack" */
	enum source_nulls nulls;
	int64_t keep_dead; /* dead and parked messages in the store */
	int64_t max_age_ms; /* 0: none */
	char *results; /* stream, table or topic; NULL: none */
	char *dead_letters; /* the same; NULL: each topic has its own */
	/* Of all that is configured of it and of its broker. */
	uint8_t digest[16];
	bool behind_go_on;  /* behind: "go-on" */
};

/* --- relays --- */

/* What an event may lead to. */
enum relay_state {
#define RELAY_STATE(name) RELAY_STATE_##name,
#include "tbl/relay_states.h"
#undef RELAY_STATE
	RELAY_STATE_COUNT_,
};

enum relay_kind {
	RELAY_POSTGRES,
	RELAY_KAFKA,
	RELAY_WEBHOOK,
	RELAY_KIND_COUNT_,
};

struct conf_webhook_secret {
	uint8_t *key; /* of base/secret.h */
	size_t len;
	bool ed25519; /* the seed of a key pair (v1a); else for HMAC (v1) */
};

struct conf_relay {
	char *name;
	unsigned index; /* its place in conf->relays */
	enum relay_kind kind;
	const struct conf_broker *broker; /* NULL: of RELAY_WEBHOOK */
	char *table; /* of RELAY_POSTGRES: "SCHEMA.TABLE" or "TABLE" */
	char *topic; /* of RELAY_KAFKA */
	/*
	 * Of RELAY_WEBHOOK: an upstream with all defaults, which is none of
	 * conf->upstreams; base_path of its only target is all that stands
	 * behind the authority, the query too.
	 */
	struct conf_upstream receiver;
	struct conf_webhook_secret *secrets; /* the first is the newest */
	size_t n_secrets;
	bool answer;
	struct strings routes; /* names; none: all */
	unsigned states; /* 1u << enum relay_state, or-ed */
	/* Of all that is configured of it and of its broker. */
	uint8_t digest[16];
};

struct spots;

/* Where in the file, by a JSON pointer, what secret of what file stands. */
struct conf_secret {
	struct conf_secret *next;
	char *pointer;
	char *file;
};

/* What is not memory of the arena, and how it is freed. */
struct conf_owned {
	struct conf_owned *next;
	void *what;
	void (*free_it)(void *what);
};

struct conf {
	atomic_uint refs;
	struct arena *arena; /* has all that it points to, and itself */
	struct conf_owned *owned;
	/* Of who has made it: conf_unref calls it with the last reference. */
	void (*destroy)(struct conf *conf);
	char *file;
	struct spots *spots; /* where in the file what stands (load/) */
	struct conf_listen *listen;
	size_t n_listen;
	int64_t workers; /* 1 or more: 0 in the file is resolved */
	char *instance; /* this gateway's name: 1 to 64 of [A-Za-z0-9._-] */
	char *state_dir;
	int64_t drain_timeout_ms;
	enum log_level_option log_level;
	bool log_access;
	int64_t max_connections;
	int64_t max_request_headers;
	int64_t header_timeout_ms;
	int64_t idle_timeout_ms;
	int64_t in_flight_bytes;
	int64_t max_probes;
	struct address admin; /* text NULL: no admin interface */
	char *admin_token;    /* NULL: none; of base/secret.h */
	struct conf_admin_token *admin_tokens; /* admin.tokens */
	size_t n_admin_tokens;
	struct conf_store store;
	int64_t cache_size;
	struct conf_upstream *upstreams;
	size_t n_upstreams;
	char *problem_base;
	/*
	 * What `defaults` came to, for routes without an object of their own
	 * too (which field names an attempt).
	 */
	const struct conf_idempotency *defaults;
	struct conf_route *routes;
	size_t n_routes;
	struct conf_broker *brokers;
	size_t n_brokers;
	struct conf_source *sources;
	size_t n_sources;
	struct conf_relay *relays;
	size_t n_relays;
	uint8_t *fixed; /* a digest of each option that is no RELOAD */
	struct conf_secret *secrets;
};

/* The enum disposition that most statuses of a class have. */
uint8_t conf_usual_outcome(const uint8_t outcomes[100]);
/* Which segment of the route's path has that variable; -1: none. */
int conf_variable(const struct conf_route *route, struct span name);
/* Whether the route is for that method, or for one of the other route's. */
bool conf_has_method(const struct conf_route *route, struct span method);
bool conf_shares_method(
    const struct conf_route *a, const struct conf_route *b);
/* Whether the two may send to the same API. */
bool conf_shares_target(
    const struct conf_upstream *a, const struct conf_upstream *b);
/* The header of that name which the source says; NULL: none. */
const struct conf_header *conf_source_header(
    const struct conf_source *source, const char *name);

/*
 * Whether the gateway can ask what became of an UNKNOWN without a client: a
 * witness, or the upstream with headers of its own.
 */
static inline bool
conf_asks_alone(const struct conf_idempotency *policy)
{
	return policy->on_unknown == UNKNOWN_WITNESS ||
	    (policy->on_unknown == UNKNOWN_RECONCILE &&
		policy->reconcile.n_headers > 0);
}

static inline bool
conf_has_witness(const struct conf_route *route)
{
	return route->idempotency != NULL &&
	    route->idempotency->on_unknown == UNKNOWN_WITNESS;
}

/* Whether the policy says what a request changes. */
static inline bool
conf_has_entity(const struct conf_idempotency *policy)
{
	return policy->entity.path != NULL ||
	    policy->entity.pointers.count > 0;
}

/*
 * Where the dead letters of a source go if the file does not say it, by what
 * the source reads.  NULL: to "TOPIC.dead" of the topic that each comes from.
 */
char *conf_usual_dead_letters(
    struct arena *arena, const struct conf_source *source);

/* The longest WAIT that an operation's time has room for. */
int64_t conf_longest_wait_ms(const struct conf_store *store);

/*
 * The next scope that has a set of keys, and then *at is its route and behind
 * it; zeros at first.  NULL: there are no more.
 */
struct conf_keys_at {
	size_t route, scope;
};
const struct conf_scope *conf_next_keys(
    const struct conf *conf, struct conf_keys_at *at);
/*
 * Where scopes have a URL in common, those of to, which nobody else knows yet,
 * have the set of the others; within one configuration files are shared, too.
 */
void conf_share_keys(const struct conf *to, const struct conf *from);

const struct conf *conf_ref(const struct conf *conf);
/* Drops a reference and nulls the caller's pointer; NULL is accepted. */
void conf_unref(const struct conf **conf);
