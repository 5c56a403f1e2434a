/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of the table of tbl/options.h, whose columns it has, that says where
 * requests go.
 */

/* --- an upstream, where it is an object --- */

OPT(UPSTREAM, "targets", TARGETS, targets, ANY, RELOAD,
	"The URLs of the upstream: http:// or https:// with an optional base "
	"path, or unix:/path.",
	REQUIRED)
OPT(UPSTREAM, "connect_timeout", DURATION, connect_timeout_ms,
	RANGE(1, 1 * DAY), RELOAD,
	"How long connecting may take, TLS included.",
	"2s")
OPT(UPSTREAM, "timeout", DURATION, timeout_ms, RANGE(1, 3650 * DAY), RELOAD,
	"How long the whole exchange may take on idempotent routes, and how "
	"long the upstream may be silent on pass-through ones.",
	"30s")
OPT(UPSTREAM, "keepalive", COUNT, keepalive, RANGE(1, 10000), RELOAD,
	"How many idle connections a worker keeps to each target.",
	64)
OPT(UPSTREAM, "reuse", CHOICE, reuse, WORDS("safe never"), RELOAD,
	"\"never\" opens a new connection for each keyed request.",
	"safe")
OPT(UPSTREAM, "max_idle", DURATION, max_idle_ms, RANGE(1, 3650 * DAY),
	RELOAD,
	"How long an idle connection is kept; the upstream's own Keep-Alive, "
	"less a second, applies if it is shorter.",
	"4s")
OPT(UPSTREAM, "max_age", DURATION, max_age_ms, RANGE(1, 3650 * DAY), RELOAD,
	"How long a connection serves, so that a name which moves is followed "
	"under steady traffic, too.",
	"5m")
OPT(UPSTREAM, "close_delimited", BOOLEAN, close_delimited, ANY, RELOAD,
	"Whether, on idempotent routes, an answer may end just by the "
	"connection closing.",
	false)
OPT(UPSTREAM, "host", CHOICE, host, WORDS("preserve target"), RELOAD,
	"Which Host is sent: the client's or the target's.",
	"preserve")
OPT(UPSTREAM, "forwarded", CHOICE, forwarded, WORDS("set trust"), RELOAD,
	"Whether X-Forwarded-Proto and X-Forwarded-Host are set, or passed "
	"on as they came.",
	"set")
OPT(UPSTREAM, "trust_overrides", BOOLEAN, trust_overrides, ANY, RELOAD,
	"Whether X-HTTP-Method-Override, X-HTTP-Method, X-Method-Override, "
	"X-Original-URL and X-Rewrite-URL pass; otherwise they are dropped, "
	"since with them the upstream could serve another method or path than "
	"the route's.",
	false)
OPT(UPSTREAM, "health.path", TARGET_PATH, health_path, ANY, RELOAD,
	"The path where each target is asked how it is (GET): one that does "
	"not answer 2xx or 3xx gets no requests while others do.",
	REQUIRED)
OPT(UPSTREAM, "health.interval", DURATION, health_interval_ms,
	RANGE(100, 1 * DAY), RELOAD,
	"How often, and how long an answer may take; by default \"5s\".",
	NONE)
OPT(UPSTREAM, "ca", TEXT, ca, ANY, RELOAD,
	"The file with the authorities that must have issued the upstream's "
	"certificate (PEM); by default, those of the system.",
	NONE)
OPT(UPSTREAM, "certificate", TEXT, certificate, ANY, RELOAD,
	"The file with the certificate that is presented to the upstream "
	"(PEM).",
	NONE)
OPT(UPSTREAM, "key", TEXT, key, ANY, RELOAD,
	"The file with that certificate's key (PEM).",
	NONE)

/* --- a route --- */

OPT(ROUTE, "name", TEXT, name, ANY, RELOAD,
	"The route's name in logs and metrics; by default, its path.",
	NONE)
OPT(ROUTE, "methods", METHODS, methods, ANY, RELOAD,
	"The methods that the route serves, or the name of one; by default, "
	"all, and with idempotency POST, PUT, PATCH and DELETE.",
	NONE)
OPT(ROUTE, "path", PATH, path, ANY, RELOAD,
	"The path that the route serves; {x} stands for one segment, a final "
	"/* for all that follows, or nothing: \"/v1/*\" serves /v1, too.",
	REQUIRED)
OPT(ROUTE, "upstream", UPSTREAM_NAME, upstream, ANY, RELOAD,
	"The name of the upstream that its requests go to.",
	REQUIRED)
OPT(ROUTE, "mode", TOGGLE, observes, WORDS("enforce observe"), RELOAD,
	"\"observe\" forwards every request as it comes, replays nothing, and "
	"counts what \"enforce\" would have done.",
	"enforce")
OPT(ROUTE, "status_path", OWN_PATH, status, ANY, RELOAD,
	"The path, with {key} as a segment, where GET tells clients, under the "
	"scope of the route, what became of a key.",
	NONE)
OPT(ROUTE, "policy_path", OWN_PATH, policy, ANY, RELOAD,
	"The path where GET tells clients what the idempotency of the route "
	"is, such as \"/.well-known/idempotency\".",
	NONE)
OPT(ROUTE, "idempotency", IDEMPOTENCY, idempotency, ANY, RELOAD,
	"What makes its requests happen once; without it they are passed "
	"through.",
	NONE)
