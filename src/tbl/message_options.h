/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second part of the table of tbl/options.h, whose columns it has: what
 * messages come from, and what becomes of them.
 */

/* --- a broker --- */

OPT(BROKER, "redis", REDIS_URL, redis.address, ANY, RELOAD,
	"A Redis whose streams are read: "
	"\"redis://[user[:pass]@]HOST:PORT[/DB]\", \"rediss://...\" or "
	"\"unix:/path[?db=N]\".",
	NONE)
OPT(BROKER, "cluster", HOST_PORTS, redis.cluster, ANY, RELOAD,
	"HOST:PORT of some servers of a Redis Cluster, instead of redis.",
	NONE)
OPT(BROKER, "sentinels", HOST_PORTS, redis.sentinels, ANY, RELOAD,
	"HOST:PORT of the Sentinels that know the master, instead of redis; "
	"name all of them.",
	NONE)
OPT(BROKER, "master", TEXT, redis.master, ANY, RELOAD,
	"The name by which the Sentinels know the master.",
	NONE)
OPT(BROKER, "user", TEXT, redis.user, ANY, RELOAD,
	"The user to log in to Redis as, if the URL does not name one.",
	NONE)
OPT(BROKER, "tls.ca", TEXT, redis.tls.files.ca, ANY, RELOAD,
	"The file with the authorities that must have issued the certificate "
	"of Redis (PEM); otherwise as store.tls.",
	NONE)
OPT(BROKER, "tls.certificate", TEXT, redis.tls.files.certificate, ANY, RELOAD,
	"The file with the certificate that is presented to Redis (PEM).",
	NONE)
OPT(BROKER, "tls.key", TEXT, redis.tls.files.key, ANY, RELOAD,
	"The file with that certificate's key (PEM).",
	NONE)
OPT(BROKER, "tls.server_name", TEXT, redis.tls.server_name, ANY, RELOAD,
	"The name that the certificate of Redis must have.",
	NONE)
OPT(BROKER, "timeout", DURATION, redis.timeout_ms, RANGE(1, 1 * HOUR), RELOAD,
	"How long one operation on Redis may take.",
	"500ms")
OPT(BROKER, "postgres", POSTGRES, postgres, ANY, RELOAD,
	"A PostgreSQL whose tables are read, instead of redis: "
	"\"postgresql://user@HOST:PORT,HOST:PORT/DATABASE?NAME=VALUE\", "
	"as libpq has it.",
	NONE)
OPT(BROKER, "password", SECRET, password, ANY, RELOAD,
	"The password, if the URL does not have one.",
	NONE)
OPT(BROKER, "kafka", HOST_PORTS, kafka, ANY, RELOAD,
	"HOST:PORT of some brokers of a Kafka whose topics are read, instead "
	"of redis.",
	NONE)
OPT(BROKER, "settings", SETTINGS, settings, ANY, RELOAD,
	"Settings of librdkafka, by name: texts, or secrets that are "
	"elsewhere. Those on which the promise rests are the gateway's own.",
	NONE)

/* --- a source --- */

OPT(SOURCE, "broker", BROKER_NAME, broker, ANY, RELOAD,
	"The name of the broker that the messages come from.",
	REQUIRED)
OPT(SOURCE, "stream", TEXT, stream, ANY, RELOAD,
	"The stream that is read; of a broker of Redis.",
	NONE)
OPT(SOURCE, "topics", TOPICS, topics, ANY, RELOAD,
	"The topics that are read; of a broker of Kafka.",
	NONE)
OPT(SOURCE, "group", TEXT, group, ANY, RELOAD,
	"The consumer group of the stream or of the topics; it is made if it "
	"is not there.",
	"onceproxy")
OPT(SOURCE, "start", TOGGLE, start_latest, WORDS("earliest latest"), RELOAD,
	"Where a group begins that is not there yet: with what the stream or "
	"the topics have, or with what is added from then on.",
	"earliest")
OPT(SOURCE, "table", TABLE, table, ANY, RELOAD,
	"The table that is read, TABLE or SCHEMA.TABLE; of a broker of "
	"PostgreSQL.",
	NONE)
OPT(SOURCE, "columns.id", COLUMN, columns.id, ANY, RELOAD,
	"The table's column with the identity of a message, unique and of any "
	"type.",
	"id")
OPT(SOURCE, "columns.entity", OPTIONAL_COLUMN, columns.entity, ANY, RELOAD,
	"The column with what a message is about, for order_by and {entity}; "
	"null: there is none.",
	"aggregateid")
OPT(SOURCE, "columns.type", OPTIONAL_COLUMN, columns.type, ANY, RELOAD,
	"The column with the kind of the message, for {type}; null: there is "
	"none.",
	"type")
OPT(SOURCE, "columns.payload", COLUMN, columns.payload, ANY, RELOAD,
	"The column that becomes the body of the request.",
	"payload")
OPT(SOURCE, "columns.headers", OPTIONAL_COLUMN, columns.headers, ANY, RELOAD,
	"The column with a JSON object of the message's headers; null: there "
	"is none.",
	NONE)
OPT(SOURCE, "columns.order", COLUMN, columns.order, ANY, RELOAD,
	"The column that says in which order the messages were written; an "
	"order needs it where the id is no integer. The default is the id.",
	NONE)
OPT(SOURCE, "finish", FINISH, finish, WORDS("delete"), RELOAD,
	"What becomes of the row of a finished message: it is deleted, or "
	"{\"set\": COLUMN} sets that column to the present time, and rows in "
	"which it is null are unread; or {\"set\": COLUMN, \"from\": VALUE, "
	"\"to\": VALUE} has the one value in those that are unread, and the "
	"other one in those that are finished.",
	"delete")
OPT(SOURCE, "notify", COLUMN, notify, ANY, RELOAD,
	"A channel to LISTEN on, so that the table is looked at as soon as it "
	"has something.",
	NONE)
OPT(SOURCE, "poll", DURATION, poll_ms, RANGE(1, 1 * DAY), RELOAD,
	"How often the table is looked at, with notify too.",
	"500ms")
OPT(SOURCE, "request.method", METHOD, request.method, ANY, RELOAD,
	"The method of the request that is made of a message.",
	"POST")
OPT(SOURCE, "request.path", MESSAGE_PATH, request.path, ANY, RELOAD,
	"Its path, which an idempotent route must serve. {json:/pointer} "
	"stands for a value of the payload, {header:NAME} for a header of the "
	"message, {id} for its id, {key} for the key of a message of Kafka, "
	"{entity} and {type} for those columns of a table.",
	REQUIRED)
OPT(SOURCE, "request.headers", MESSAGE_HEADERS, request.headers, ANY, RELOAD,
	"Its headers, by name: texts with the same variables, or secrets that "
	"are elsewhere; those of the route's scope must be among them, or one "
	"that names the tenant, where the scope has several kinds.",
	NONE)
OPT(SOURCE, "request.body.field", TEXT, request.body_field, ANY, RELOAD,
	"The field of a stream's entry that is its body. Without request.body "
	"it is the field \"body\" where there is one, else all fields as a "
	"JSON object of strings; of a table, it is the payload, of Kafka the "
	"value.",
	REQUIRED)
OPT(SOURCE, "request.content_type", FIELD_VALUE, request.content_type, ANY,
	RELOAD,
	"Its Content-Type; by default the message's own content-type, else "
	"application/json.",
	NONE)
OPT(SOURCE, "request.cloudevents", ONLY_WORD, request.cloudevents,
	WORDS("binary"), RELOAD,
	"Makes the request a CloudEvent with the headers ce-id, ce-source, "
	"ce-type and ce-time.",
	NONE)
OPT(SOURCE, "key", SOURCE_KEY, key, WORDS("auto position"), RELOAD,
	"The message's idempotency key: \"auto\" is its Idempotency-Key, else "
	"its CloudEvents source and id, else its webhook-id, else its "
	"position; or {\"header\": NAME}, or JSON pointers to values of the "
	"payload that make one as derive_key does.",
	"auto")
OPT(SOURCE, "order_by", SOURCE_ORDER, order_by,
	WORDS("none partition key entity"), RELOAD,
	"Messages that have the same value of this are executed one after the "
	"other: \"partition\" is the whole stream or table, or a partition of "
	"a topic, \"key\" the key of a message of Kafka, \"entity\" the "
	"column; or {\"header\": NAME}, or JSON pointers to values of the "
	"payload. The partitions of a topic have no order among them.",
	"none")
OPT(SOURCE, "in_flight", COUNT, in_flight, RANGE(1, 10000), RELOAD,
	"How many messages may be between taken and finished; those held, "
	"parked or waiting to be retried do not count. With more than its "
	"upstream's keepalive, connections are made anew all the time.",
	64)
OPT(SOURCE, "retry.first", DURATION, retry_first_ms, RANGE(1, 1 * DAY),
	RELOAD,
	"How long a message waits for its second attempt; each further wait "
	"is twice as long, with jitter.",
	"1s")
OPT(SOURCE, "retry.most", DURATION, retry_most_ms, RANGE(1, 30 * DAY), RELOAD,
	"The longest wait.",
	"5m")
OPT(SOURCE, "retry.attempts", COUNT, retry_attempts, RANGE(1, 1000000),
	RELOAD,
	"How often a message may be sent to an upstream that releases it while "
	"it executes others of this source: max_attempts for it.",
	10)
OPT(SOURCE, "hold", DURATION, hold_ms, RANGE(1, 3650 * DAY), RELOAD,
	"How long a message whose outcome is unknown is held before it goes "
	"to the dead letters.",
	"24h")
OPT(SOURCE, "refused", TOGGLE, refused_ack, WORDS("dead-letter ack"), RELOAD,
	"What becomes of a message whose answer is neither 2xx nor 303: it "
	"goes to the dead letters with the answer, or is acknowledged.",
	"dead-letter")
OPT(SOURCE, "nulls", CHOICE, nulls, WORDS("dead-letter ack send"), RELOAD,
	"What becomes of a message without a value (a tombstone of Kafka, a "
	"row whose payload is NULL): it goes to the dead letters, is "
	"acknowledged, or is sent with an empty body.",
	"dead-letter")
OPT(SOURCE, "keep_dead", COUNT, keep_dead, RANGE(1, 1000000), RELOAD,
	"How many dead and parked messages the store keeps; where one more "
	"would be added, the source stands, and drops nothing.",
	10000)
OPT(SOURCE, "max_age", DURATION, max_age_ms, RANGE(1, 3650 * DAY), RELOAD,
	"Messages that are older when they are first taken go to the dead "
	"letters.",
	NONE)
OPT(SOURCE, "results", PLACE, results, ANY, RELOAD,
	"Where the answer of each acknowledged message is put, in one step "
	"with its acknowledgement: {\"stream\": NAME}, {\"table\": NAME} or "
	"{\"topic\": NAME} of the same broker.",
	NONE)
OPT(SOURCE, "dead_letters", PLACE, dead_letters, ANY, RELOAD,
	"Where a copy goes of each message that became a dead letter, "
	"likewise; by default to the stream STREAM:dead, the table TABLE_dead "
	"or the topic TOPIC.dead.",
	NONE)
OPT(SOURCE, "behind", TOGGLE, behind_go_on, WORDS("park go-on"), RELOAD,
	"With an order, what becomes of the messages after a dead letter: "
	"they follow it there until an operator decides about it, or go on.",
	"park")
