/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of tbl/options.h about what is asked where nobody knows what became
 * of a payment.
 */

/* --- the long form of on_unknown's reconcile --- */

OPT(RECONCILE, "path", RECONCILE_PATH, reconcile.path, ANY, RELOAD,
	"The path to ask the upstream at (GET, with the headers of the scope). "
	"{key} stands for the key, {path:NAME} for a segment of the route's "
	"path, {json:/pointer} for a member of the request's body, {scope:N} "
	"for what the entry N of the scope (from 0) is in the request (of a "
	"token, a claim that is a text).",
	REQUIRED)
OPT(RECONCILE, "headers", RECONCILE_HEADERS, reconcile.headers, ANY, RELOAD,
	"Headers of the gateway's own, by name, to ask with in place of those "
	"of the scope: it asks without a client then. A value may have the "
	"variables of path; one that is elsewhere ({\"env\": NAME}, "
	"{\"file\": PATH}) is a secret, and has none. path and headers must "
	"name the tenant, unless keys_unique is true.",
	NONE)
OPT(RECONCILE, "keys_unique", BOOLEAN, reconcile.keys_unique, ANY, RELOAD,
	"Whether no two tenants share a key at this API, so that a question "
	"need not name the tenant.",
	false)
OPT(RECONCILE, "settle", DURATION, reconcile.settle_ms, RANGE(0, 30 * DAY),
	RELOAD,
	"Nothing is asked before the outcome has been unknown for this long: "
	"the longest time that the upstream may still take to commit what it "
	"was sent.",
	"60s")
OPT(RECONCILE, "absent", STATUSES, reconcile.absent, ANY, RELOAD,
	"The statuses that mean that the request did not happen, so that it "
	"is executed.",
	[404, 410])
OPT(RECONCILE, "status", COUNT, reconcile.status, RANGE(200, 599), RELOAD,
	"The status that is stored in place of that of the upstream's answer; "
	"by default, it is stored as it came.",
	NONE)

/* --- a witness, in the API's own database --- */

OPT(WITNESS, "broker", BROKER_NAME, witness.broker, ANY, RELOAD,
	"The name of the broker that is the API's own PostgreSQL.",
	REQUIRED)
OPT(WITNESS, "table", TABLE, witness.table, ANY, RELOAD,
	"The table with a row for each attempt, TABLE or SCHEMA.TABLE; "
	"\"onceproxy witness sql\" prints what makes it.",
	"onceproxy_witness")
OPT(WITNESS, "wait", DURATION, witness.wait_ms, RANGE(1, 5 * SECOND), RELOAD,
	"How long a question waits for a transaction that is still at work on "
	"the attempt; after that, it is asked again later.",
	"2s")
OPT(WITNESS, "status", COUNT, witness.status, RANGE(200, 599), RELOAD,
	"The status of the answer where the row has none.",
	NONE)
OPT(WITNESS, "then", WITNESS_THEN, witness.then_reconcile, WORDS("hold"),
	RELOAD,
	"What becomes of an attempt that has begun to call somebody else, and "
	"did not say what came of it: \"hold\", or {\"reconcile\": {...}}, "
	"which asks the upstream.",
	"hold")
OPT(WITNESS, "enforced_by", TABLE, witness.enforced_by, ANY, RELOAD,
	"The API's own table whose rows cannot exist without theirs in the "
	"witness, by a foreign key; without one, the gateway has to watch "
	"whether the API writes its rows.",
	NONE)
