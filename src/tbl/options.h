/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OPT(group, path, type, field, range, change, sentence, default): every member
 * of the configuration file, one entry each, in the order of the manual.
 * Parser, defaults, ranges, the check for unknown members, the JSON Schema and
 * the manual's tables follow from it (conf/option.h).
 *
 *   group     the object that it is in: ROOT, LISTEN, ENCRYPTION_KEY, UPSTREAM,
 *             ROUTE, IDEMPOTENCY (some in tbl/answer_options.h); UPSTREAM and
 *             ROUTE are in tbl/route_options.h, RECONCILE and WITNESS in
 *             tbl/unknown_options.h, SCOPE in tbl/scope_options.h, BROKER and
 *             SOURCE in tbl/message_options.h, RELAY in
 *             tbl/relay_options.h, which belong to the same table
 *   path      its name there; a dot leads into an object within the object
 *   type      a line of conf/types.h: how it is read, and its schema
 *   field     the member that it fills, in the group's struct of conf/conf.h
 *   range     RANGE(least, most), WORDS("a b") or ANY
 *   change    RELOAD: a reload changes it; RESTART: only a restart does
 *   sentence  for the manual and the schema
 *   default   JSON; NONE; or REQUIRED, wherever its object is given
 */

/* --- the whole file --- */

OPT(ROOT, "listen", LISTENS, listen, ANY, RESTART,
	"The addresses to accept clients on: \"HOST:PORT\", \"[V6]:PORT\", "
	"\":PORT\" for all addresses of IPv4 and IPv6, \"unix:/path\", or "
	"objects. Port 0 means any free port.",
	REQUIRED)
OPT(ROOT, "workers", COUNT, workers, RANGE(0, 256), RESTART,
	"Event-loop threads; 0 means one for each processor.",
	0)
OPT(ROOT, "instance", PLAIN_NAME, instance, ANY, RESTART,
	"The name of this gateway among those that share a store or a broker: "
	"at most 64 letters, digits and . _ -. The default is the name of the "
	"host.",
	NONE)
OPT(ROOT, "state_dir", TEXT, state_dir, ANY, RESTART,
	"Where the journal and the managed Redis keep their files. The default "
	"is lib/onceproxy in the localstatedir of the installation.",
	NONE)
OPT(ROOT, "drain_timeout", DURATION, drain_timeout_ms,
	RANGE(1, 3650 * DAY), RELOAD,
	"How long a drain waits for what is in flight; whatever has not "
	"finished by then becomes UNKNOWN.",
	"30s")
OPT(ROOT, "log.level", CHOICE, log_level, WORDS("debug info warn error"),
	RELOAD,
	"Lines below this level are not written.",
	"info")
OPT(ROOT, "log.access", BOOLEAN, log_access, ANY, RELOAD,
	"Whether one line is logged for each request.",
	true)
OPT(ROOT, "limits.connections", COUNT, max_connections,
	RANGE(1, 1000000), RESTART,
	"The number of client connections, of all workers together; one more "
	"is answered 503 (overloaded) and closed. The admin interface counts "
	"its own, at most 64.",
	10000)
OPT(ROOT, "limits.request_headers", SIZE, max_request_headers,
	RANGE(1, 64 * KIB), RESTART,
	"The longest head of a request, from its method to the empty line "
	"behind its fields; a longer one gets 431.",
	"16KiB")
OPT(ROOT, "limits.header_timeout", DURATION, header_timeout_ms,
	RANGE(1, 3650 * DAY), RELOAD,
	"How long a client may take to send the head of a request, counted "
	"from when it connects (with TLS, this includes the handshake) or from "
	"the request's first line.",
	"10s")
OPT(ROOT, "limits.idle_timeout", DURATION, idle_timeout_ms,
	RANGE(1, 3650 * DAY), RELOAD,
	"How long a client may keep a connection open without sending "
	"anything. A client that reads an answer at less than 512 bytes per "
	"second over this time is also cut off, and one that sends a body so "
	"slowly over this time or 30 seconds.",
	"60s")
OPT(ROOT, "limits.in_flight_bytes", SIZE, in_flight_bytes,
	RANGE(1, 1 * TIB), RELOAD,
	"Memory for buffered bodies, of all requests together, counted as "
	"they come; when it is used up, requests with a body get 503 "
	"(overloaded), and answers wait in the upstream's connection until "
	"there is memory again or its timeout is over.",
	"256MiB")
OPT(ROOT, "limits.probes", COUNT, max_probes, RANGE(1, 10000), RELOAD,
	"How many questions what became of a payment this gateway has under "
	"way at a time, to upstreams and witnesses, of all routes together, by "
	"itself and for operators; what a client's retry asks does not count.",
	16)
OPT(ROOT, "admin.listen", ADDRESS, admin, ANY, RESTART,
	"The address of the admin interface, \"127.0.0.1:9090\" or "
	"\"unix:/path\"; without it there is no such interface.",
	NONE)
OPT(ROOT, "admin.token", SECRET, admin_token, ANY, RESTART,
	"The bearer token that everything but /healthz and /readyz needs; "
	"it, or one of admin.tokens, is required where the address is neither "
	"loopback nor a Unix socket.",
	NONE)
OPT(ROOT, "admin.tokens", ADMIN_TOKENS, admin_tokens, ANY, RESTART,
	"Tokens of people, by the names that stand in the history of records, "
	"in the log and on the page; each is a token or an object.",
	NONE)

/* --- the store --- */

OPT(ROOT, "store.redis", REDIS, store.redis.address, ANY, RESTART,
	"\"managed\" starts and supervises a private redis-server in "
	"state_dir. Otherwise \"redis://[user[:pass]@]HOST:PORT[/DB]\", the "
	"same with \"rediss://\" for TLS, or \"unix:/path[?db=N]\".",
	"managed")
OPT(ROOT, "store.cluster", HOST_PORTS, store.redis.cluster, ANY, RESTART,
	"HOST:PORT of some servers of a Redis Cluster, instead of store.redis.",
	NONE)
OPT(ROOT, "store.sentinels", HOST_PORTS, store.redis.sentinels, ANY, RESTART,
	"HOST:PORT of the Sentinels that know the master, instead of "
	"store.redis; name all of them.",
	NONE)
OPT(ROOT, "store.master", TEXT, store.redis.master, ANY, RESTART,
	"The name by which the Sentinels know the master.",
	NONE)
OPT(ROOT, "store.user", TEXT, store.redis.user, ANY, RESTART,
	"The user to log in to Redis as, if the URL does not name one. One "
	"that comes from a file is read again by SIGHUP, as the password is.",
	NONE)
OPT(ROOT, "store.password", SECRET, store.redis.password, ANY, RESTART,
	"The password for Redis, if the URL does not have one. One that comes "
	"from a file is read again by SIGHUP, and used from the next login on.",
	NONE)
OPT(ROOT, "store.tls.ca", TEXT, store.redis.tls.files.ca, ANY, RESTART,
	"The file with the authorities that must have issued the certificate "
	"of Redis (PEM); by default, those of the system. TLS is spoken where "
	"store.redis is \"rediss://...\", and with a cluster or Sentinels "
	"where there is store.tls, be it empty.",
	NONE)
OPT(ROOT, "store.tls.certificate", TEXT, store.redis.tls.files.certificate,
	ANY, RESTART,
	"The file with the certificate that is presented to Redis (PEM).",
	NONE)
OPT(ROOT, "store.tls.key", TEXT, store.redis.tls.files.key, ANY, RESTART,
	"The file with that certificate's key (PEM).",
	NONE)
OPT(ROOT, "store.tls.server_name", TEXT, store.redis.tls.server_name, ANY,
	RESTART,
	"The name that the certificate of Redis must have; by default, the "
	"host that is connected to, as the configuration, the cluster or the "
	"Sentinels name it.",
	NONE)
OPT(ROOT, "store.prefix", PREFIX, store.prefix, ANY, RESTART,
	"The prefix of every key that the gateway writes.",
	"onceproxy")
OPT(ROOT, "store.timeout", DURATION, store.redis.timeout_ms,
	RANGE(1, 1 * HOUR), RESTART,
	"How long one operation on Redis may take; while a reply or a large "
	"answer is on its way and bytes flow, how long none may.",
	"500ms")
OPT(ROOT, "store.shards", COUNT, store.shards, RANGE(1, 1024), RESTART,
	"The number of hash tags over which records are spread. Records that "
	"were written with another number are no longer found.",
	64)
OPT(ROOT, "store.scripting", TOGGLE, store.functions,
	WORDS("script function"), RESTART,
	"\"script\" uses EVALSHA; \"function\" uses FUNCTION LOAD and FCALL, "
	"for a user who may not EVAL.",
	"script")
OPT(ROOT, "store.wait_replicas", COUNT, store.wait_replicas,
	RANGE(0, 100), RESTART,
	"A claim or a renewal counts, and an answer reaches the client, only "
	"when this many replicas have it; with 0, the gateway does not wait.",
	0)
OPT(ROOT, "store.wait_timeout", DURATION, store.wait_timeout_ms,
	RANGE(1, 1 * HOUR), RESTART,
	"How long to wait for the replicas; never more than two fifths of "
	"store.timeout.",
	"100ms")
OPT(ROOT, "store.events.maxlen", COUNT, store.events_maxlen,
	RANGE(1, 1000000000), RESTART,
	"Each change of state is added to a stream of its shard, in the same "
	"atomic step; beyond about this many entries, the oldest are dropped.",
	REQUIRED)
OPT(ROOT, "store.events.overflow", OVERFLOW, store.events_refuse,
	WORDS("drop refuse"), RESTART,
	"What happens beyond maxlen to events that a relay has not brought: "
	"\"drop\" counts them as lost; \"refuse\" keeps them, and new claims "
	"get 503 (overloaded) until it has.",
	"drop")
OPT(ROOT, "store.secret", SECRET, store.secret, ANY, RESTART,
	"The key for the hash that names records; it must be the same on all "
	"gateways.",
	NONE)
OPT(ROOT, "store.allow_eviction", BOOLEAN, store.allow_eviction, ANY,
	RESTART,
	"Whether a Redis that may evict records is accepted.",
	false)
OPT(ROOT, "store.compression", TOGGLE, store.compression,
	WORDS("none zstd"), RESTART,
	"How stored answers are compressed.",
	"zstd")
OPT(ROOT, "store.encryption_keys", ENCRYPTION_KEYS, store.encryption_keys,
	ANY, RESTART,
	"The keys that stored answers are encrypted with (XChaCha20-Poly1305): "
	"the first one encrypts, all of them decrypt.",
	NONE)
OPT(ROOT, "store.encryption_strict", BOOLEAN, store.encryption_strict, ANY,
	RESTART,
	"Whether a stored answer that is not encrypted is refused: such were "
	"stored before store.encryption_keys was set, or written by somebody "
	"else.",
	false)
OPT(ROOT, "cache.size", SIZE, cache_size, RANGE(0, 1 * TIB), RESTART,
	"Memory for completed answers, so that they can be given again without "
	"asking Redis; 0 switches this off. It is divided evenly among the "
	"workers.",
	"64MiB")

/* --- upstreams and routes --- */

OPT(ROOT, "upstreams", UPSTREAMS, upstreams, ANY, RELOAD,
	"The servers that requests go to, by name; each is a URL or an object.",
	REQUIRED)
OPT(ROOT, "problem_base", URI_PREFIX, problem_base, ANY, RELOAD,
	"What precedes the name in a problem's type.",
	"urn:onceproxy:problem:")
OPT(ROOT, "defaults", DEFAULTS, defaults, ANY, RELOAD,
	"Settings that the idempotency of every route starts from.",
	{})
OPT(ROOT, "routes", ROUTES, routes, ANY, RELOAD,
	"The routes, in order; the first one that matches serves a request.",
	REQUIRED)
OPT(ROOT, "brokers", BROKERS, brokers, ANY, RELOAD,
	"The servers that messages come from, by name: at most 64 letters, "
	"digits and . _ -.",
	NONE)
OPT(ROOT, "sources", SOURCES, sources, ANY, RELOAD,
	"What turns messages into requests, by name: at most 64 letters, "
	"digits and . _ -.",
	NONE)
OPT(ROOT, "relays", RELAYS, relays, ANY, RELOAD,
	"Where the events of all changes of state are brought, by name: at "
	"most 64 letters, digits and . _ -. They switch store.events on, with "
	"a maxlen of 100000; a reload only adds the first one where that is "
	"on.",
	NONE)

/* --- an entry of listen, where it is an object --- */

OPT(LISTEN, "address", ADDRESS, address, ANY, RESTART,
	"\"HOST:PORT\", \"[V6]:PORT\" or \"unix:/path\".",
	REQUIRED)
OPT(LISTEN, "proxy_protocol", NETWORKS, proxies, ANY, RELOAD,
	"Networks like \"10.0.0.0/8\" from where each connection must begin "
	"with a header of the PROXY protocol (version 1 or 2), which says who "
	"the client is; from elsewhere none may.",
	NONE)
OPT(LISTEN, "mode", MODE, mode, ANY, RESTART,
	"The permissions of a Unix socket in octal; by default \"0660\", "
	"whatever the umask is, and so for the admin interface's socket.",
	NONE)
OPT(LISTEN, "group", TEXT, group, ANY, RESTART,
	"The group that a Unix socket belongs to; by default, that of the "
	"process.",
	NONE)
OPT(LISTEN, "tls.certificate", TEXT, tls.certificate, ANY, RELOAD,
	"The file with the certificate and its chain up to the root (PEM).",
	REQUIRED)
OPT(LISTEN, "tls.key", TEXT, tls.key, ANY, RELOAD,
	"The file with the certificate's key (PEM).",
	REQUIRED)
OPT(LISTEN, "tls.client_ca", TEXT, tls.ca, ANY, RELOAD,
	"The file with the authorities that must have issued clients' "
	"certificates (PEM): with it every client must present one, or its "
	"handshake fails (client_certificate in the log); without it, clients "
	"need none.",
	NONE)

/* --- an entry of admin.tokens, where it is an object --- */

OPT(ADMIN_TOKEN, "token", SECRET, token, ANY, RESTART,
	"The bearer token.",
	REQUIRED)
OPT(ADMIN_TOKEN, "read_only", BOOLEAN, read_only, ANY, RESTART,
	"Whether it only shows, and changes nothing.",
	false)

/* --- an entry of store.encryption_keys --- */

OPT(ENCRYPTION_KEY, "id", PLAIN_NAME, id, ANY, RESTART,
	"The name by which a stored answer refers to the key: at most 64 "
	"letters, digits and . _ -. An id must never be reused for another "
	"key.",
	REQUIRED)
OPT(ENCRYPTION_KEY, "key", KEY_BYTES, key, ANY, RESTART,
	"32 bytes in base64.",
	REQUIRED)

#include "tbl/route_options.h"

/* --- idempotency of a route, and defaults --- */

OPT(IDEMPOTENCY, "header", KEY_FIELDS, headers, ANY, RELOAD,
	"The request header that carries the key, or a list of accepted ones; "
	"[] beside derive_key: what clients send as a key is neither looked at "
	"nor passed on.",
	"Idempotency-Key")
OPT(IDEMPOTENCY, "required", BOOLEAN, required, ANY, RELOAD,
	"Whether a request without a key is refused (400); otherwise it is "
	"passed through.",
	true)
OPT(IDEMPOTENCY, "derive_key", DERIVE_KEY, derive_from, ANY, RELOAD,
	"For clients that send no key: \"body\", or JSON pointers to members "
	"of the body whose values make up the key.",
	NONE)
OPT(IDEMPOTENCY, "send_derived", BOOLEAN, send_derived, ANY, RELOAD,
	"Whether a derived key is sent to the upstream, in the first of the "
	"headers that carry the key.",
	false)
OPT(IDEMPOTENCY, "key_format", CHOICE, key_format, WORDS("any uuid quoted"),
	RELOAD,
	"What a key looks like; \"quoted\" accepts only RFC 8941 strings. Its "
	"letters count as they are: a UUID in capitals is another key.",
	"any")
OPT(IDEMPOTENCY, "max_length", COUNT, max_length, RANGE(1, 1024), RELOAD,
	"The longest key.",
	255)
OPT(IDEMPOTENCY, "min_length", COUNT, min_length, RANGE(1, 1024), RELOAD,
	"The shortest key that clients may send, where what is easily guessed "
	"shall not be one.",
	1)
OPT(IDEMPOTENCY, "scope", SCOPES, scope, ANY, RELOAD,
	"What names the tenant: request headers, whose values do, and objects; "
	"[] means one scope for all. A header that the gateway removes or "
	"writes itself cannot be one.",
	["Authorization"])
OPT(IDEMPOTENCY, "namespace", NAMESPACE, namespace, ANY, RELOAD,
	"Keys of routes with different namespaces are unrelated; {x} stands "
	"for that segment of the route's path, {*} for the request's whole "
	"path.",
	"default")
OPT(IDEMPOTENCY, "fingerprint.include", PARTS, fingerprint_include,
	WORDS("method path query body"), RELOAD,
	"What must be the same in a retry; a slash at the end of the path is "
	"no matter.",
	["method", "path", "query", "body"])
OPT(IDEMPOTENCY, "fingerprint.headers", FIELDS, fingerprint_headers, ANY,
	RELOAD,
	"Request headers that must be the same in a retry.",
	[])
OPT(IDEMPOTENCY, "fingerprint.json", BOOLEAN, fingerprint_json, ANY, RELOAD,
	"Whether JSON bodies are compared by value.",
	false)
OPT(IDEMPOTENCY, "fingerprint.ignore", IGNORED, fingerprint_ignore, ANY,
	RELOAD,
	"JSON pointers to what the comparison leaves out, which imply json; "
	"{\"query\": NAME} leaves a parameter of the query out.",
	[])
OPT(IDEMPOTENCY, "entity", ENTITY, entity, ANY, RELOAD,
	"What a request changes, for newer_only and serialize: JSON pointers "
	"to members of the body, or {\"path\": NAME} for a segment of the "
	"route's path; with store.cluster, a reload that changes it is "
	"refused.",
	NONE)
OPT(IDEMPOTENCY, "newer_only", POINTER, newer_only, ANY, RELOAD,
	"A JSON pointer to a version in the body, a number or an RFC 3339 "
	"time: a request whose version is not above the highest one that was "
	"completed for its entity is refused (409).",
	NONE)
OPT(IDEMPOTENCY, "serialize", BOOLEAN, serialize, ANY, RELOAD,
	"Whether at most one request is executed at a time for each entity; "
	"another one waits as in_flight says, or is refused (409).",
	false)
OPT(IDEMPOTENCY, "label", LABEL, labels, ANY, RELOAD,
	"What people know a payment by: JSON pointers to members of the body, "
	"or \"key\"; their values stand in the record and in the log (256 "
	"bytes at most).",
	[])
OPT(IDEMPOTENCY, "retention", DURATION, retention_ms, RANGE(1, 3650 * DAY),
	RELOAD,
	"How long an answer is kept after its completion.",
	"24h")
OPT(IDEMPOTENCY, "unknown_retention", DURATION, unknown_retention_ms,
	RANGE(1, 3650 * DAY), RELOAD,
	"How long UNKNOWN and FAILED records are kept after their last change; "
	"forgetting one lets its key execute again.",
	"30d")
OPT(IDEMPOTENCY, "lease", DURATION, lease_ms, RANGE(100, 1 * DAY), RELOAD,
	"How long a key's owner that has fallen silent is believed to be "
	"alive.",
	"15s")
OPT(IDEMPOTENCY, "in_flight", CHOICE, in_flight, WORDS("reject wait"), RELOAD,
	"Whether a retry that comes while the first request is in flight is "
	"refused (409), or waits for it.",
	"reject")
OPT(IDEMPOTENCY, "wait_timeout", DURATION, wait_timeout_ms, RANGE(1, 1 * DAY),
	RELOAD,
	"The longest time that a retry waits.",
	"10s")
OPT(IDEMPOTENCY, "outcomes", OUTCOMES, outcomes,
	WORDS("store release forget unknown"), RELOAD,
	"What a status (\"503\") or class (\"5xx\") of the upstream means: "
	"\"store\" the answer, \"release\" the key, \"forget\" (the same, and "
	"no record stays of a key's first attempt), or \"unknown\". A status "
	"takes precedence over its class, and a route's entry over the "
	"default; all others are stored, and so are 301, 307 and 308 without "
	"a Location.",
	{"301": "forget", "307": "forget", "308": "forget",
	 "401": "forget", "403": "forget",
	 "408": "release", "425": "release", "429": "release",
	 "502": "unknown", "503": "release", "504": "unknown"})
OPT(IDEMPOTENCY, "on_unknown", ON_UNKNOWN, on_unknown,
	WORDS("hold retry"), RELOAD,
	"What a retry does when the outcome is unknown: \"hold\" refuses it, "
	"\"retry\" executes it again, {\"witness\": {\"broker\": NAME}} asks "
	"the API's own database, and {\"reconcile\": {\"path\": PATH, "
	"\"absent\": STATUSES}}, or in short {\"reconcile\": PATH}, asks the "
	"upstream first.",
	"hold")
OPT(IDEMPOTENCY, "max_attempts", COUNT, max_attempts, RANGE(1, 1000000),
	RELOAD,
	"How often one key may be sent to the upstream; after that, it has "
	"FAILED. What the upstream has refused before any work does not "
	"count.",
	5)
OPT(IDEMPOTENCY, "on_store_down", CHOICE, on_store_down,
	WORDS("reject forward"), RELOAD,
	"Whether requests are refused (503) while Redis cannot be reached, or "
	"forwarded without the promise.",
	"reject")
OPT(IDEMPOTENCY, "max_request_body", SIZE, max_request_body,
	RANGE(1, 1 * GIB), RELOAD,
	"The longest request body; a longer one gets 413.",
	"1MiB")
OPT(IDEMPOTENCY, "max_response_body", SIZE, max_response_body,
	RANGE(0, 256 * MIB), RELOAD,
	"The longest answer body that is kept; a longer one is streamed. 0: no "
	"answer is ever kept, not even its head.",
	"1MiB")
OPT(IDEMPOTENCY, "cors.origins", ORIGINS, cors_origins, ANY, RELOAD,
	"The origins whose pages may read the answers, such as "
	"\"https://shop.example\", or \"*\" for all: preflights are answered, "
	"and what an answer says of other origins is replaced.",
	REQUIRED)
OPT(IDEMPOTENCY, "cors.max_age", DURATION, cors_max_age_ms,
	RANGE(1000, 1 * DAY), RELOAD,
	"How long a browser may remember a preflight; by default \"1h\".",
	NONE)
OPT(IDEMPOTENCY, "omit_headers", FIELDS, omit_headers, ANY, RELOAD,
	"Headers of the answer that the first client gets but that are not "
	"stored.",
	[])
OPT(IDEMPOTENCY, "replay_header", FIELD, replay_header, ANY, RELOAD,
	"The header that marks a stored answer; \"\" for none.",
	"Idempotent-Replayed")
OPT(IDEMPOTENCY, "attempt_header", FIELD, attempt_header, ANY, RELOAD,
	"The header that tells the upstream the number of the attempt; \"\" "
	"for none.",
	"Idempotency-Attempt")
OPT(IDEMPOTENCY, "key_id_header", FIELD, key_id_header, ANY, RELOAD,
	"The header that tells the upstream the key_id, by which records are "
	"named and a witness knows them; \"\" for none. By default there is "
	"none, and \"Idempotency-Key-Id\" with a witness.",
	NONE)
OPT(IDEMPOTENCY, "echo_key", BOOLEAN, echo_key, ANY, RELOAD,
	"Whether answers carry the key that the client sent, in its own "
	"header.",
	false)
OPT(IDEMPOTENCY, "replay_json", POINTERS, replay_json, ANY, RELOAD,
	"JSON pointers to members of an answer that a replay takes from its "
	"own request, such as the \"/id\" of JSON-RPC; each must be in "
	"fingerprint.ignore.",
	[])

#include "tbl/unknown_options.h"
#include "tbl/answer_options.h"
#include "tbl/scope_options.h"
#include "tbl/message_options.h"
#include "tbl/relay_options.h"
