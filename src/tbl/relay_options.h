/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The third part of the table of tbl/options.h, whose columns it has: where
 * outcomes go out to.
 */

/* --- a relay --- */

OPT(RELAY, "broker", BROKER_NAME, broker, ANY, RELOAD,
	"The name of the broker that events are brought to.",
	NONE)
OPT(RELAY, "table", TABLE, table, ANY, RELOAD,
	"The table that has a row for each event, TABLE or SCHEMA.TABLE; it is "
	"made if it is not there, and so is TABLE_position, with where the "
	"relay stands.",
	NONE)
OPT(RELAY, "topic", TOPIC, topic, ANY, RELOAD,
	"The topic of Kafka that has a message for each event, by the record's "
	"key_id; where the relay stands is what a group of its own has "
	"committed of it.",
	NONE)
OPT(RELAY, "webhook", RECEIVER, receiver, ANY, RELOAD,
	"The URL that each event is posted to, instead of to a broker, "
	"signed as Standard Webhooks says.",
	NONE)
OPT(RELAY, "secrets", WEBHOOK_SECRETS, secrets, ANY, RELOAD,
	"What a webhook is signed with: whsec_ and 24 to 64 bytes in base64 "
	"(HMAC-SHA256, v1), or whsk_ and the 32 bytes of a seed in base64 "
	"(Ed25519, v1a). Several during a rotation, each of which signs.",
	NONE)
OPT(RELAY, "answer", BOOLEAN, answer, ANY, RELOAD,
	"Whether an event of a completion has the stored answer with it, as "
	"far as that is still kept when the event is brought.",
	false)
OPT(RELAY, "routes", ROUTE_NAMES, routes, ANY, RELOAD,
	"The names of the routes whose events are brought; without it, of all.",
	NONE)
OPT(RELAY, "states", PARTS, states,
	WORDS("NONE PROCESSING COMPLETED FAILED UNKNOWN"), RELOAD,
	"The states to which the events lead that are brought; NONE: the key "
	"is free, or its record gone.",
	["NONE", "PROCESSING", "COMPLETED", "FAILED", "UNKNOWN"])
