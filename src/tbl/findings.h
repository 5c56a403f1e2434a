/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FINDING(name, level, needs, well, message, cure): what `doctor` looks for, in
 * the order of its report.
 *
 *   name      as it is printed
 *   level     FAIL: the promise is in danger, or nothing can be served; WARN:
 *             the promise holds, but somebody should know
 *   needs     what has to be seen, or it is not known: NOTHING; REDIS, the
 *             store's; INFO, what that says of itself; BROKER, of a source;
 *             RELAY, what it brings to; WITNESS, the API's database
 *   well      printed where there is nothing to find
 *   message   what was found; {} stands for the particulars
 *   cure      what to do; {} stands for what depends on the configuration
 */

/* --- the file and this machine: doctor/look_host.c --- */
FINDING(configuration, FAIL, NOTHING,
	"the configuration is valid",
	"{}", "correct the file (onceproxy.json(5)) and run this again")
FINDING(state_dir, FAIL, NOTHING,
	"state_dir can be written",
	"no journal can be kept in {}, and without one no claim is forwarded",
	"to try it, \"state_dir\": \"state\" is enough; else create it for the "
	"user that runs the gateway: {}")
FINDING(state_dir_open, FAIL, NOTHING,
	"state_dir is private, or not there yet",
	"other users can look into {}, which holds the answers to payments",
	"where only the gateway's files are in it: chmod 0700 {}; else name "
	"another folder in \"state_dir\", in which nothing else is")
FINDING(state_dir_full, FAIL, NOTHING,
	"the disk of state_dir has room for the journal, or state_dir is not "
	"there yet",
	"less than 1 MiB is left on the disk that holds {}: no journal can be "
	"kept there, and without one no claim is forwarded",
	"make room there; see how much there is: df -h {}")
FINDING(journal, WARN, NOTHING,
	"the journal is empty",
	"outcomes wait in the journal for Redis to take them: {}",
	"run a gateway with this state_dir and this Redis until it is empty; "
	"do not release any of these keys before then: onceproxy serve -c {}")
FINDING(journal_foreign, WARN, NOTHING,
	"all outcomes in the journal are for this store",
	"outcomes in the journal are for another store than this file names, "
	"and only a gateway with that one delivers them: {}",
	"start a gateway with the store.redis, store.prefix and store.shards "
	"that it had before, and this state_dir, until they are gone")
FINDING(journal_damaged, WARN, NOTHING,
	"no file of the journal is damaged",
	"damaged files of the journal were kept aside, and may have outcomes "
	"that nobody knows: {}",
	"list the keys that are UNKNOWN, ask the API about each, and check the "
	"disk; then remove the file from state_dir/journal")
FINDING(secret_open, WARN, NOTHING,
	"files with secrets are private",
	"other users can {}, which has a secret",
	"{}")
FINDING(certificate_invalid, FAIL, NOTHING,
	"the certificates of listen are valid",
	"clients refuse to connect: {}",
	"renew it and send SIGHUP, or set the clock; look at it with: openssl "
	"x509 -noout -dates -in {}")
FINDING(certificate_ends, WARN, NOTHING,
	"no certificate of listen ends within 14 days",
	"clients are going to refuse to connect: {}",
	"renew it and send SIGHUP; look at it with: openssl x509 -noout -dates "
	"-in {}")
FINDING(listen, FAIL, NOTHING,
	"this machine has what listen and admin.listen name",
	"the gateway cannot listen on {}, and does not start",
	"name an address, a folder and a group that are there; what a machine "
	"has is listed by: ip address; getent group")
FINDING(descriptors, WARN, NOTHING,
	"there are enough descriptors for "
	"limits.connections",
	"this process may open so few descriptors that it would accept only {}",
	"set LimitNOFILE= in systemd, or ulimit -Hn, to {} or more, or lower "
	"limits.connections")
FINDING(managed_server, FAIL, NOTHING,
	"the managed redis-server can be run, or none is wanted",
	"store.redis is \"managed\", and {}",
	"install redis-server, or name a Redis in store.redis")

/* --- Redis: doctor/look_redis.c, look_store.c --- */
FINDING(redis_stopped, WARN, REDIS,
	"the managed Redis is running, or none is wanted",
	"the managed Redis is not running ({}), so it was not looked at",
	"start the gateway and run this again: onceproxy serve -c {}")
FINDING(sentinel_lost, WARN, NOTHING,
	"each Sentinel names the master, or the file names none",
	"this Sentinel does not name the master: {}",
	"start it, or correct store.sentinels and store.master; query it with: "
	"{}")
FINDING(sentinels_few, FAIL, NOTHING,
	"a majority of the Sentinels name the master, or the file names none",
	"too few Sentinels name the master to detect a failover or to agree on "
	"one: {}",
	"start the others: more than half of them are needed")
FINDING(sentinel_behind, WARN, NOTHING,
	"the Sentinels name the same master, or the file names none",
	"the Sentinels do not name the same master: {}",
	"check whether that Sentinel can reach the others and the servers; "
	"query it with: {}")
FINDING(redis_certificate, FAIL, NOTHING,
	"Redis wants no client certificate that we lack",
	"Redis wants a client certificate, and was given none",
	"put one that its tls-ca-cert-file vouches for, and its key, into "
	"store.tls.certificate and store.tls.key")
FINDING(redis_unreachable, FAIL, NOTHING,
	"Redis answers",
	"Redis does not answer: {}",
	"start it, and check that store.redis, store.timeout and firewalls let "
	"the gateway connect to {}")
FINDING(redis_login, FAIL, REDIS,
	"Redis accepts our login",
	"Redis does not accept our login: {}",
	"put the user's name and password into store.user and store.password, "
	"or create the user: {}")
FINDING(login_old, FAIL, NOTHING,
	"a gateway that runs logs in to Redis as the file says",
	"Redis does not accept the login of the gateway that runs, which has "
	"an older secret than the file has by now: {}",
	"have it read the secret again: systemctl reload onceproxy, or kill "
	"-HUP; one that stands in the configuration itself needs a restart")
FINDING(redis_database, FAIL, REDIS,
	"Redis has the database of store.redis",
	"Redis does not select the database {}",
	"name one below its `databases` (CONFIG GET databases) at the end of "
	"the URL")
FINDING(redis_old, FAIL, INFO,
	"Redis is new enough",
	"this is Redis {}, and the scripts need features that came with 7.0",
	"upgrade it to 7.0 or later")
FINDING(redis_replica, FAIL, INFO,
	"Redis is a master",
	"this Redis is a replica of {}, and takes no claims",
	"name the master in store.redis, or make this one the master: "
	"redis-cli REPLICAOF NO ONE")
FINDING(rights, FAIL, REDIS,
	"we have all the rights that we need in Redis",
	"this Redis user may not: {}",
	"paste this line into redis-cli as an administrator, followed by ACL "
	"SAVE where Redis has an aclfile (else by CONFIG REWRITE): {}")
FINDING(eviction, FAIL, INFO,
	"Redis evicts nothing",
	"Redis may evict records, and a forgotten claim lets a payment be "
	"made twice: {}",
	"redis-cli CONFIG SET maxmemory-policy noeviction, and the same in "
	"redis.conf")
FINDING(eviction_allowed, WARN, INFO,
	"store.allow_eviction permits no eviction",
	"Redis may evict records, and store.allow_eviction permits it: {}",
	"redis-cli CONFIG SET maxmemory-policy noeviction, and set "
	"store.allow_eviction to false")
FINDING(persistence, FAIL, INFO,
	"Redis keeps an append-only file",
	"Redis keeps no append-only file: a restart forgets claims, and their "
	"payments may be made again",
	"redis-cli CONFIG SET appendonly yes, and the same in redis.conf")
FINDING(persistence_hidden, WARN, INFO,
	"Redis shows how it keeps what it has",
	"Redis shows no append-only file and has no CONFIG, as a service may "
	"that writes a log of its own: doctor cannot tell whether a restart "
	"or a failover forgets claims, whose payments may then be made again",
	"read in the service's documentation whether a write that was "
	"acknowledged outlives both, and switch that on; "
	"onceproxy-setup(7) names services of which it is known")
FINDING(writes, FAIL, REDIS,
	"Redis accepts writes",
	"Redis refuses writes, so no key can be claimed: {}",
	"MISCONF: fix its disk, then redis-cli BGSAVE; OOM: raise maxmemory; "
	"NOREPLICAS: start its replicas again")
FINDING(appendfsync, WARN, INFO,
	"Redis syncs what it acknowledges",
	"appendfsync is {}: a crash may forget the claims of the last seconds",
	"redis-cli CONFIG SET appendfsync always, and the same in redis.conf")
FINDING(replicas_few, FAIL, INFO,
	"there are as many replicas as store.wait_replicas "
	"asks for",
	"store.wait_replicas is more than the number of replicas: {}",
	"start replicas with replicaof, or lower store.wait_replicas")
FINDING(no_replica, WARN, INFO,
	"Redis has a replica, or is the managed one",
	"this Redis has no replica: if its machine is lost, so are its records",
	"start another redis-server with: replicaof {}")
FINDING(cluster_replica, WARN, NOTHING,
	"each master of the cluster has a replica",
	"this master has no replica: while it is gone, its keys get 503, and "
	"if its machine is lost, so are its records",
	"redis-cli --cluster add-node NEW-HOST:PORT {} --cluster-slave")
FINDING(cluster_fails, FAIL, NOTHING,
	"the cluster is up, or there is none",
	"the cluster reports that it is down",
	"bring back the masters that are gone, or promote their replicas "
	"(CLUSTER FAILOVER TAKEOVER); see redis-cli --cluster check {}")
FINDING(cluster_coverage, WARN, NOTHING,
	"a dead master affects only its own keys, or there is no cluster",
	"cluster-require-full-coverage is yes: while one master is gone, the "
	"keys of all others get 503 too",
	"redis-cli --cluster call {} CONFIG SET cluster-require-full-coverage "
	"no, and the same in redis.conf")
FINDING(memory, WARN, INFO,
	"Redis has memory to spare",
	"less than a fifth of maxmemory is left; when it is full, new claims "
	"get 503: {}",
	"redis-cli CONFIG SET maxmemory {}, and the same in redis.conf, or "
	"shorten the retention of routes")
FINDING(clocks, WARN, REDIS,
	"the clocks agree",
	"the clock of Redis differs from this machine's: {}",
	"synchronise both with NTP (timedatectl set-ntp true); Redis' clock "
	"decides leases and retention, this machine's is the one in the log")
FINDING(records_unknown, WARN, REDIS,
	"no outcome is unknown",
	"keys are held because nobody knows what became of their requests: {}",
	"ask the API about each, then release or complete it: onceproxy keys "
	"list --state UNKNOWN -c {}")
FINDING(records_failed, WARN, REDIS,
	"no key has failed for good",
	"keys have used up all their attempts: {}",
	"look at each, then release or complete it: onceproxy keys list "
	"--state FAILED -c {}")
FINDING(foreign_keys, WARN, REDIS,
	"all keys under store.prefix are ours",
	"keys under store.prefix that a gateway of this version, with this "
	"store.shards, cannot find: {}",
	"set store.shards back to what it was, or choose a store.prefix that "
	"nobody else uses; see one: redis-cli TYPE {}")
FINDING(encryption_keys, FAIL, REDIS,
	"we have the encryption keys of all stored "
	"answers",
	"stored answers are encrypted with keys that store.encryption_keys "
	"does not have, and their retries get 500: {}",
	"add this key after the others on all gateways, and restart them: {}")
FINDING(plain_answers, WARN, REDIS,
	"no stored answer is left without encryption, or none is to have it",
	"stored answers that are not encrypted, though store.encryption_keys "
	"is set: {}",
	"they go with their retention; once none is left, set "
	"store.encryption_strict, and nobody can put an answer of their own "
	"there")

/* --- upstreams: doctor/look_upstreams.c --- */
FINDING(upstream_name, FAIL, NOTHING,
	"the names of upstreams resolve",
	"the host name has no address: {}",
	"correct the name, or add it to DNS or /etc/hosts: getent hosts {}")
FINDING(upstream_closed, FAIL, NOTHING,
	"upstreams accept connections",
	"no connection could be made: {}",
	"start the upstream, or correct its address: {}")
FINDING(upstream_silent, FAIL, NOTHING,
	"upstreams accept connections in time",
	"no connection within connect_timeout: {}",
	"check whether a firewall drops packets to {}, or raise "
	"connect_timeout")
FINDING(upstream_plain, FAIL, NOTHING,
	"upstreams with https:// speak TLS",
	"what answers there speaks no TLS, but perhaps plain HTTP: {}",
	"write http:// instead of https://, or correct the port: {}")
FINDING(upstream_wants_tls, FAIL, NOTHING,
	"upstreams with http:// speak plain HTTP",
	"what answers there speaks TLS and no plain HTTP, so that no answer to "
	"a payment can be read, and each is held as unknown: {}",
	"write https:// instead of http://, and name the authorities of its "
	"certificate in ca unless the system trusts them; or correct the port: "
	"{}")
FINDING(upstream_tls, FAIL, NOTHING,
	"the TLS handshakes with upstreams succeed",
	"TLS fails: {}",
	"put the authorities that issued its certificate into ca, and our own "
	"certificate and key if it asks for one; see what it presents: {}")
FINDING(upstream_length, FAIL, NOTHING,
	"no answer of an idempotent route's upstream lacks its length",
	"an answer has no length and ends by closing, so that nobody can tell "
	"it from a part of it, and a payment that is answered so is held as "
	"unknown: {}",
	"have the upstream send Content-Length, or chunks; if it cannot, set "
	"\"close_delimited\": true in it, and know that an answer that is cut "
	"off is then stored as it is")
FINDING(target_down, WARN, NOTHING,
	"all targets can be reached",
	"this target cannot be reached, and the upstream's other targets take "
	"its requests: {}",
	"start it, or remove it from targets: {}")

/* --- the keys of tokens: doctor/look_upstreams.c --- */
FINDING(token_keys, FAIL, NOTHING,
	"the keys of tokens can be fetched",
	"no token, or none that is signed by a newer key, can be verified: {}",
	"correct keys, or ca, or let the gateway reach the URL; see what it "
	"answers: curl -i {}")

/* --- where a reconcile asks: doctor/look_reconcile.c --- */
FINDING(reconcile_invented, FAIL, NOTHING,
	"no reconcile finds a payment that nobody made",
	"{}: a payment that did not happen would be taken for one that did",
	"correct path, so that only a payment that was made is answered with "
	"2xx, and ask again: curl -i {}")
FINDING(reconcile, WARN, NOTHING,
	"no reconcile asks an API",
	"{}",
	"read onceproxy-unknown(7), correct path or absent, and ask again: "
	"curl -i {}")

/* --- brokers and sources: doctor/look_sources.c --- */
FINDING(broker_unreachable, FAIL, NOTHING,
	"the brokers answer",
	"the broker does not answer, so no message is taken: {}",
	"start it, and check that the broker's address and firewalls let the "
	"gateway connect; it goes on by itself when the broker is back")
FINDING(broker_login, FAIL, NOTHING,
	"the brokers accept our login",
	"the broker does not accept our login, so no message is taken: {}",
	"put the user's name and password into the broker's URL, or user and "
	"password, or create the user (onceproxy-brokers(7))")
FINDING(broker_replica, FAIL, BROKER,
	"the brokers take writes",
	"the broker is a replica: messages can be read there, and not "
	"acknowledged",
	"name the master or primary in the broker's URL")
FINDING(broker_eviction, WARN, BROKER,
	"no broker evicts streams",
	"this Redis may evict a stream with all its messages: {}",
	"redis-cli CONFIG SET maxmemory-policy noeviction, and the same in "
	"redis.conf")
FINDING(broker_persistence, WARN, BROKER,
	"the brokers keep messages over a restart",
	"this Redis keeps no append-only file: a restart forgets messages, and "
	"which of them were acknowledged",
	"redis-cli CONFIG SET appendonly yes, and the same in redis.conf")
FINDING(source_missing, FAIL, BROKER,
	"what the sources read and write is there, or will be",
	"what the source reads or writes is not there, or is something else: "
	"{}",
	"create it, or correct the source's stream, table and columns, or "
	"where its results and dead_letters go")
FINDING(source_rights, FAIL, BROKER,
	"we have the rights that the sources need",
	"this user of the broker may not: {}",
	"have the broker's administrator say: {}")
FINDING(source_order, FAIL, BROKER,
	"what is to be in order has one",
	"order_by is set, and the column {} is no number: its order is not the "
	"one in which the rows were written",
	"name a column that has that order, a time or a number, in "
	"columns.order")
FINDING(source_trimmed, WARN, BROKER,
	"no stream was trimmed before it was read",
	"entries that were trimmed from the stream before they were read are "
	"lost: {}",
	"ask those who wrote them, and have the stream trimmed further behind: "
	"a greater MAXLEN, or MINID")
FINDING(source_waits, WARN, BROKER,
	"no message waits for long",
	"messages wait to be taken: {}",
	"start a gateway if none is running; else see why the source stands "
	"still: source_stands in its log")
FINDING(source_index, WARN, BROKER,
	"the tables have an index of their unread rows",
	"no index gives the unread rows of the table in their order, so each "
	"look reads all of it: {}",
	"have the table's owner say: {}")
FINDING(source_no_id, WARN, BROKER,
	"unread rows have an id",
	"rows whose id is null are never taken: {}",
	"give each an id, or delete it, and have the column refuse null")
FINDING(source_deleting, WARN, BROKER,
	"no trigger deletes rows as they are inserted",
	"what is deleted in the transaction that inserted it is never seen, "
	"and nothing is sent: {}",
	"leave rows where they are, since the gateway deletes them; Debezium's "
	"extension of Quarkus needs "
	"quarkus.debezium-outbox.remove-after-insert=false")
FINDING(source_snapshot, WARN, BROKER,
	"nothing keeps dead rows in the tables",
	"rows that are gone cannot be cleared away and slow each look at the "
	"table down, because something holds an old snapshot: {}",
	"end it: a transaction that was forgotten (pg_terminate_backend), or "
	"ROLLBACK PREPARED, or a replica that is behind")
FINDING(source_places, FAIL, BROKER,
	"the topics of results and dead letters are there, or will be",
	"there is no such topic, and the broker makes none by itself, so "
	"results or dead letters keep the source standing: {}",
	"make it, with as many partitions as the source's topic has: "
	"kafka-topics.sh --create --topic NAME")
FINDING(source_copies, WARN, BROKER,
	"results and dead letters outlive the loss of a broker",
	"what is put there is lost with one broker: {}",
	"give the topic three replicas and min.insync.replicas=2")
FINDING(source_sizes, WARN, BROKER,
	"the topics of results and dead letters take what may be put there",
	"what is too large for its topic keeps its message from being "
	"finished: {}",
	"raise max.message.bytes of the topic (kafka-configs.sh --alter "
	"--entity-type topics --entity-name NAME --add-config "
	"max.message.bytes=N), or lower the routes' max_response_body")
FINDING(source_offsets, WARN, BROKER,
	"the group's offsets are kept for as long as messages may be old",
	"a group that nobody reads as for that long begins anew; what it has "
	"finished only Redis knows then: {}",
	"raise offsets.retention.minutes of the brokers, or shorten max_age")
FINDING(source_others, FAIL, BROKER,
	"the sources' groups have no other members than gateways",
	"the group has members that are no gateways: what they take is never "
	"executed, and while they share its partitions by another protocol "
	"than \"range\" no gateway may join: {}",
	"end them (kafka-consumer-groups.sh --describe --members --group NAME "
	"says who they are), or give the source a group of its own")

/* --- relays: doctor/look_sources.c --- */
FINDING(relay_unreachable, FAIL, NOTHING,
	"what the relays bring to lets us in, and takes writes",
	"events wait, because the relay's broker does not take them: {}",
	"start it, or correct the broker's URL or servers, user and password; "
	"a PostgreSQL that is a standby takes no writes: name the primary")
FINDING(relay_table, FAIL, RELAY,
	"the tables of the relays are what they make, or will be",
	"the relay cannot write its table: {}",
	"name another table, or rename this one: the relay then makes its own")
FINDING(relay_topic, FAIL, RELAY,
	"the topics of the relays are there",
	"the relay cannot write its topic: {}",
	"make it (kafka-topics.sh --create), or name another one; if it is "
	"there, the gateway's user needs WRITE, READ and DESCRIBE on it")
FINDING(relay_rights, FAIL, RELAY,
	"we have the rights that the relays need",
	"this user of the relay's broker may not: {}",
	"have the broker's administrator say: {}")
FINDING(relay_receiver, FAIL, NOTHING,
	"the receivers of the relays' webhooks can be reached",
	"no connection to the webhook's receiver, so that its events wait: {}",
	"start it, or correct the relay's webhook, {}")

/* --- witnesses, in an API's database: doctor/look_postgres.c --- */
FINDING(witness_unreachable, FAIL, NOTHING,
	"the databases of the witnesses let us in, and take writes",
	"the witness's database does not take us, so that what is unknown "
	"stays so: {}",
	"start it, or where it refuses us, correct the broker's URL (which "
	"database), user and password, or have the user let in; a PostgreSQL "
	"that is a standby takes no writes: name the primary")
FINDING(witness_table, FAIL, WITNESS,
	"the witnesses have their table, and its key",
	"nothing can be asked of the witness's table: {}",
	"make it as this says: onceproxy witness sql -c {}")
FINDING(witness_rights, FAIL, WITNESS,
	"we have the rights that the witnesses need",
	"this user of the witness's database may not: {}",
	"have the database's administrator say: {}")
FINDING(witness_answers, FAIL, WITNESS,
	"the witnesses give all four answers, as was tried and rolled back, "
	"or there are none",
	"what was tried in the witness's table, and rolled back, went "
	"otherwise: {}",
	"take out the trigger, rule, policy or default that does this; "
	"onceproxy witness sql says what the table is")
FINDING(witness_enforced, FAIL, WITNESS,
	"enforced_by enforces that each payment has its row",
	"enforced_by enforces nothing, so that the gateway only watches "
	"whether the API writes its rows: {}",
	"change that table as this says: onceproxy witness sql -c {}")
FINDING(witness_single, WARN, WITNESS,
	"one attempt makes one row of the table that enforced_by names",
	"an attempt that reaches the API twice, as a proxy may send it again, "
	"may pay twice: {} has no UNIQUE (key_id, attempt)",
	"where one request makes one row there, say: {}")
FINDING(witness_changed, WARN, WITNESS,
	"nobody but us may change what a witness has",
	"an API that may change rows may make one that was revoked good again: "
	"{}",
	"unless the API needs it to go on from `started`, and then on verdict, "
	"status, headers and body alone, say: {}")
FINDING(witness_commit, WARN, WITNESS,
	"what the witnesses' databases have committed is not lost",
	"a payment and its row may be lost together, and be asked about in "
	"vain: {}",
	"set synchronous_commit = on and, with standbys, "
	"synchronous_standby_names in postgresql.conf")
FINDING(witness_rest, WARN, WITNESS,
	"rows that were revoked are deleted when nobody needs them any more",
	"this user may not delete, so that rows that were revoked stay in the "
	"witness for ever",
	"delete them yourselves, never one that is done, or say: {}")
