/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a configuration may say and had better not, as it endangers the promise
 * or has no effect: a row is where it stands, when it is said, and the words
 * (of printf, with what they need behind them).  Each is asked for each thing
 * of its subject, in the words of the function that does (conf/review/):
 *
 *   WARN_FILE      the whole file; a JSON pointer
 *   WARN_TOKEN     a token of the admin interface
 *   WARN_UPSTREAM  an upstream; a member of it, or NULL
 *   WARN_METHOD    a method of a route, and where it stands
 *   WARN_POLICY    idempotency of a route; a member of it
 *   WARN_KEY       a header that has the key; the same
 *   WARN_SCOPE     an entry of scope; the same
 *
 * Of one member several may be said.
 */
#ifdef WARN_FILE
WARN_FILE("/state_dir", *dir == '~' || (dollar != NULL &&
	    (ascii_is_alpha(dollar[1]) || strchr("_{", dollar[1]) != NULL)),
	"it is a folder of exactly this name; no \"~\", no \"$NAME\" and no "
	"\"${NAME}\" is replaced: write the whole path, or {\"env\": NAME}")
WARN_FILE("/store/allow_eviction", store->allow_eviction,
	"a Redis that has no memory left may forget keys: their retries are "
	"executed again")
WARN_FILE("/store/wait_timeout", waits && store->wait_replicas == 0,
	"no replica is waited for: \"wait_replicas\" is 0")
WARN_FILE("/store/wait_timeout", waits && store->wait_replicas > 0 &&
	    store->wait_timeout_ms > conf_longest_wait_ms(store),
	"only %s are waited, two fifths of \"timeout\": make that longer, or "
	"this shorter",
	amount_words(conf_longest_wait_ms(store), AMOUNT_DURATION).text)
WARN_FILE("/routes", conf->n_routes == 0,
	"there is no route: each request is answered 404")
#endif
#ifdef WARN_TOKEN
WARN_TOKEN(conf->admin.text == NULL,
	"there is no admin interface without \"admin.listen\"")
WARN_TOKEN(conf->admin.text != NULL && !control && *secret != '/' &&
	    strlen(secret) < SHORT_TOKEN,
	"who tries some finds so short a token: \"openssl rand -hex 32\" "
	"prints a better one")
WARN_TOKEN(control,
	"no request can carry it: it has more than one line, or another "
	"control character")
#endif
#ifdef WARN_UPSTREAM
WARN_UPSTREAM(NULL, circle != NULL,
	"the gateway itself listens there (\"%s\"): its requests come back to "
	"it", circle)
WARN_UPSTREAM(NULL, braces,
	"its URL has no variables, and what stands in {} is taken as it is; "
	"the path of each request is put behind the URL: leave it out")
WARN_UPSTREAM(NULL,
	!tls && (upstream->ca != NULL || upstream->certificate != NULL),
	"no target begins with https://: its certificates are not used, and "
	"nothing that is sent is encrypted")
WARN_UPSTREAM(timeout_member(conf, &at),
	long_call && upstream->timeout_ms > HOUR_MS,
	"a call may take %s, which is longer than any call should be: until "
	"then nobody knows what became of the payment; make it shorter",
	amount_words(upstream->timeout_ms, AMOUNT_DURATION).text)
WARN_UPSTREAM(timeout_member(conf, &at),
	long_call && upstream->timeout_ms <= HOUR_MS,
	"a call may take %s, and a drain waits for it %s (drain_timeout) at "
	"most: each restart may leave payments UNKNOWN; make drain_timeout as "
	"long", amount_words(upstream->timeout_ms, AMOUNT_DURATION).text,
	amount_words(conf->drain_timeout_ms, AMOUNT_DURATION).text)
#endif
#ifdef WARN_METHOD
/* "*" and "POTS" are methods, too, as far as HTTP goes. */
WARN_METHOD(!is_usual && found.ptr == NULL,
	"it is no usual method, and others are not served here; without "
	"\"methods\" the usual ones are")
WARN_METHOD(found.ptr != NULL,
	"it is no usual method, and others are not served here; did you mean "
	"\"%.*s\"?", SPAN_FMT(found))
WARN_METHOD(keyed && (!strcmp(method, "GET") || !strcmp(method, "HEAD")),
	"what only reads needs no promise: here it needs a key, and a retry is "
	"given an old answer; leave it to a route without \"idempotency\"")
WARN_METHOD(keyed && !strcmp(method, "OPTIONS"),
	"a browser asks with it before it sends a request from another site, "
	"and has no key then: leave it to a route without \"idempotency\"")
#endif
#ifdef WARN_KEY
WARN_KEY("header", is_among(name, changing),
	"many clients have another \"%s\" each time that they send a request: "
	"a retry is executed again; name the header of a key", name)
WARN_KEY("header", is_among(name, staying) || is_cookie,
	"\"%s\" is no key: the next payment has the same, and is answered as a "
	"retry", name)
#endif
#ifdef WARN_SCOPE
WARN_SCOPE("header", is_key && scope->kind == SCOPE_HEADER,
	"this header is the key and the scope at once, so whoever sends "
	"another's key gets another's answer: name the tenant by something "
	"else in \"scope\"")
WARN_SCOPE("header", is_key && scope->kind != SCOPE_HEADER,
	"this header has the credentials that name the tenant, and so no key: "
	"name the one that clients send a key in")
WARN_SCOPE("scope", is_token && some_basic,
	"the password is in the scope besides its user: a retry with a new one "
	"is executed again; leave \"Authorization\" out")
WARN_SCOPE("scope", is_token && some_jwt,
	"the token is in the scope besides its claim: a retry with a renewed "
	"one is executed again; leave \"Authorization\" out")
WARN_SCOPE("scope", is_token && !some_jwt && renewed,
	"clients renew their tokens, and a retry with the next one is executed "
	"again: name the tenant by what stays, as {\"jwt\": \"sub\", \"keys\": "
	"FILE} of signed tokens")
WARN_SCOPE("scope", meant != NULL,
	"\"%s\" is the name of a header here, which a request must have; did "
	"you mean %s?", name, meant)
WARN_SCOPE("scope", is_among(name, staying),
	"\"%s\" does not say who a client is: alone, it shows one client "
	"another's answer, and where a retry has another one, it is executed "
	"again", name)
WARN_SCOPE("scope", is_among(name, changing),
	"\"%s\" does not say who a client is: where a retry has another one, "
	"it is executed again", name)
WARN_SCOPE("scope", !strcasecmp(name, "Cookie"),
	"the cookies of a client change, at each login and with any site's "
	"own: a retry with others is executed again; name the tenant by what "
	"stays")
WARN_SCOPE("scope", is_among(claim, renewed_claims),
	"a renewed token has another \"%s\", and a retry with it is executed "
	"again: name the claim that says whose it is, as \"sub\"", claim)
WARN_SCOPE("scope", is_among(claim, shared_claims) && !says_who(p),
	"\"%s\" is the same in the tokens of many tenants: whoever sends "
	"another's key gets another's answer; name the claim that says whose "
	"it is, as \"sub\"", claim)
/* Who reads the file of keys could be any tenant. */
WARN_SCOPE("scope", private_key != NULL,
	"the file of keys has a private key (%s), with which whoever reads the "
	"file makes tokens of any tenant: the issuer's public keys are enough, "
	"so leave \"d\" out", private_key)
#endif
#ifdef WARN_POLICY
/* --- the key, and whose it is --- */

WARN_POLICY("max_length",
	p->key_format == KEY_UUID && p->max_length < UUID_LENGTH,
	"\"key_format\" is \"uuid\", which has 36 characters: no key is "
	"accepted")
WARN_POLICY("send_derived", p->send_derived && !derives &&
	    warning_is_own(at, "send_derived") && !messages,
	"no key is sent: without \"derive_key\" none is derived")
WARN_POLICY("scope", p->scope.count == 0,
	"all clients share one scope: whoever sends another's key gets "
	"another's answer")
WARN_POLICY("scope_missing", p->scope_missing_forward,
	"who names no tenant is passed on without the promise: each retry is "
	"executed")

/* --- what is compared --- */

WARN_POLICY("fingerprint.include", parts == 0,
	"no part of a request is compared: another payment with the same key "
	"gets the first one's answer")
WARN_POLICY("fingerprint.ignore", parts != 0 && !body && ignores && own,
	"nothing of the body is compared: \"fingerprint.include\" does not "
	"have it")
WARN_POLICY("fingerprint.include",
	parts != 0 && !body && !(ignores && own) && !p->derive_from_body,
	"the body is not compared: another payment with the same key gets the "
	"first one's answer; name \"body\", too")
WARN_POLICY("fingerprint.ignore",
	(parts & FINGERPRINT_QUERY) == 0 && query && own,
	"nothing of the query is compared: \"fingerprint.include\" does not "
	"have it")
WARN_POLICY("fingerprint.headers", has(&p->fingerprint_headers, changing),
	"each sending of a request has such a header anew: a retry is taken "
	"for another request (422)")
WARN_POLICY("fingerprint.ignore", ignores && only && own,
	"of the body only what \"fingerprint.only\" names is compared, also "
	"where it is named here")
WARN_POLICY(ignores	? "fingerprint.ignore"
	    : only	? "fingerprint.only"
			: "fingerprint.json",
	p->derive_from_body && p->fingerprint_json,
	"a key that is derived of the whole body (\"derive_key\") is another "
	"one where a byte differs, also of what does not count here, and the "
	"retry is executed: let \"derive_key\" name the members that say which "
	"payment it is")
WARN_POLICY("entity", conf_has_entity(p) && !p->serialize &&
	    p->newer_only.count == 0 && warning_is_own(at, "entity"),
	"it changes nothing without \"newer_only\" or \"serialize\"")

/* --- what is unknown --- */

WARN_POLICY("on_unknown", p->on_unknown == UNKNOWN_RETRY,
	"what may have happened is executed again: a payment may be made twice")
/* A message has attempts of its own. */
WARN_POLICY("max_attempts", p->on_unknown == UNKNOWN_RETRY &&
	    p->max_attempts == 1 && conf->n_sources == 0,
	"\"on_unknown\" is \"retry\", and no second attempt is allowed: a "
	"retry finds the key FAILED; say 2 or more, or \"hold\"")
WARN_POLICY("on_unknown.witness",
	p->on_unknown == UNKNOWN_WITNESS && p->witness.enforced_by == NULL,
	"no table of the API is bound to its rows: a payment that a release of "
	"the API makes without writing them may be made twice before anybody "
	"sees it; name the table of payments as \"enforced_by\", and "
	"\"onceproxy witness sql\" prints its foreign key")
WARN_POLICY("on_unknown.witness.status",
	p->witness.status != 0 &&
	    p->outcomes[p->witness.status] != DISPOSITION_STORE,
	"\"outcomes\" do not store this status: what was executed stays "
	"UNKNOWN where its row names no other")
WARN_POLICY("on_unknown.reconcile.absent", vain != 0,
	"%d may say that the API cannot tell just now, or not to us: a payment "
	"that was made would be made again; name only what says that there is "
	"none, as 404", vain)
WARN_POLICY("on_unknown.reconcile.settle",
	asks && p->reconcile.settle_ms < at->route->upstream->timeout_ms,
	"settle is %s, and a call may take %s (timeout of the upstream): where "
	"a gateway dies meanwhile the API says truly that nothing happened "
	"yet, and the payment would be made again; say as long as that, and as "
	"the API may still commit what it was sent",
	amount_words(p->reconcile.settle_ms, AMOUNT_DURATION).text,
	amount_words(at->route->upstream->timeout_ms, AMOUNT_DURATION).text)
WARN_POLICY("on_unknown.reconcile.status", asks && p->reconcile.status >= 400,
	"clients take a payment that was found for refused, and make another: "
	"say 200 or 201")
WARN_POLICY("on_unknown.reconcile",
	asks && !p->reconcile.says_absent,
	"a 404 for a mistyped path would mean that nothing happened, and the "
	"payment be made again: try the path, then say what means it: "
	"{\"path\": ..., \"absent\": [404, 410]}")
WARN_POLICY("entity", apart.len > 0,
	"what is changed is one thing for all values of {%.*s} in "
	"\"namespace\": where these are tenants, a newer version of one "
	"refuses another's payment; put {\"path\": \"%.*s\"} into \"scope\"",
	SPAN_FMT(apart), SPAN_FMT(apart))
WARN_POLICY("unknown_retention",
	asks && p->reconcile.settle_ms >= p->unknown_retention_ms,
	"the key is forgotten before the upstream is asked (\"settle\" of "
	"\"on_unknown\"): a retry is executed again")

/* --- what is remembered, and how it is told --- */

WARN_POLICY("outcomes", forgotten,
	"a payment that was made is not remembered: each retry is executed "
	"again")
/* The last two are of proxies (Cloudflare). */
WARN_POLICY("outcomes", forgets[500] || forgets[502] || forgets[504] ||
	    forgets[520] || forgets[524],
	"an API may have made the payment before it answers 500, 502 or 504, "
	"and the retry is executed: say \"unknown\" or \"store\", and release "
	"what says that nothing happened, as 503")
WARN_POLICY("problems", refused / 100 == 4 && refused != 408 &&
	    refused != 409 && refused != 425 && refused != 429,
	"outcome-unknown has a status by which clients take the payment for "
	"refused, and make another: leave it as it is, or say 409 or a 5xx")
WARN_POLICY("retention", p->retention_ms < HOUR_MS,
	"an answer is forgotten within the hour: a retry after that is "
	"executed again")
WARN_POLICY("unknown_retention", p->unknown_retention_ms < HOUR_MS,
	"what may have happened is forgotten within the hour: a retry after "
	"that is executed again")
WARN_POLICY("on_store_down", p->on_store_down == STORE_DOWN_FORWARD,
	"while Redis is away, requests are forwarded without the promise: each "
	"retry is executed")
WARN_POLICY("lease", p->lease_ms < conf->store.redis.timeout_ms,
	"its renewal may take %s (store.timeout), and it is over by then: what "
	"is still being executed becomes UNKNOWN; make it longer",
	amount_words(conf->store.redis.timeout_ms, AMOUNT_DURATION).text)
WARN_POLICY("max_request_body", p->max_request_body > conf->in_flight_bytes,
	"a body longer than %s (limits.in_flight_bytes) never has memory: each "
	"retry is answered 503 (overloaded)",
	amount_words(conf->in_flight_bytes, AMOUNT_SIZE).text)
WARN_POLICY("omit_headers", has(&p->omit_headers, of_body),
	"a stored answer cannot be read without its Content-Type and "
	"Content-Encoding: leave them out here")
WARN_POLICY("replay_header", is_among(p->replay_header, staying) ||
	    is_among(p->replay_header, changing) ||
	    !strcasecmp(p->replay_header, "Location"),
	"the API's own header of this name is lost: name one that no answer "
	"has")
#endif
