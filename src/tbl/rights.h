/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RIGHT(right, when, probe, message): what the gateway's user of Redis must be
 * allowed to do, within scripts and outside of them; an ACL puts a plus sign in
 * front of each.
 *
 *   when     ALWAYS, WITH_DB (store.redis names a database), WITH_EVENTS,
 *            WITH_SCRIPT or WITH_FUNCTION (store.scripting), WITH_REPLICAS
 *            (store.wait_replicas), WITH_CLUSTER, WITH_SOURCES, WITH_RELAYS,
 *            WITH_MESSAGES (sources or relays), WITH_HASHES (relays, or a
 *            source of Kafka), WITH_WEBHOOKS, or WITH_REFUSAL
 *            (store.events.overflow)
 *   probe    a command that changes nothing and needs this right: @key stands
 *            for a key that never exists, @channel for the channel of changes,
 *            @pattern for all of those, @db for the database, @nothing for an
 *            empty argument
 *   message  what it is for
 */
RIGHT("asking", WITH_CLUSTER, "ASKING",
	"to follow a key to where its slot is being moved")
RIGHT("client|setname", ALWAYS, "CLIENT SETNAME onceproxy",
	"to give connections a name in CLIENT LIST")
RIGHT("cluster|info", WITH_CLUSTER, "CLUSTER INFO",
	"to notice a server that is cut off from the cluster")
RIGHT("cluster|shards", WITH_CLUSTER, "CLUSTER SHARDS",
	"to learn which server has which slots")
RIGHT("del", ALWAYS, "DEL @key", "to delete a record")
RIGHT("eval", WITH_SCRIPT, "EVAL return{} 0",
	"to run a script that Redis does not have yet")
RIGHT("evalsha", WITH_SCRIPT,
	"EVALSHA 0000000000000000000000000000000000000000 0",
	"to run a script that Redis has")
RIGHT("exists", ALWAYS, "EXISTS @key",
	"to notice an entity that is on its way to another server")
RIGHT("fcall", WITH_FUNCTION, "FCALL onceproxy 0", "to call the functions")
RIGHT("function|load", WITH_FUNCTION, "FUNCTION LOAD @nothing",
	"to load functions that Redis does not have yet")
RIGHT("get", ALWAYS, "GET @key", "to read a record")
RIGHT("getrange", ALWAYS, "GETRANGE @key 0 0", "to read a record's head")
RIGHT("hdel", WITH_HASHES, "HDEL @key -", "to forget an event that was "
	"brought, or a relay that is no longer configured")
RIGHT("hget", WITH_HASHES, "HGET @key -",
	"to read where a relay, or a group of Kafka, stands")
RIGHT("hgetall", WITH_WEBHOOKS, "HGETALL @key",
	"to find the events that are to be brought")
RIGHT("hkeys", WITH_HASHES, "HKEYS @key",
	"to find a relay that is no longer configured, or what a group of "
	"Kafka reads")
RIGHT("hmget", WITH_SOURCES, "HMGET @key -",
	"to read a dead or parked message, and which store was accepted")
RIGHT("hvals", WITH_REFUSAL, "HVALS @key",
	"to notice that relays have not brought what store.events.overflow "
	"keeps for them")
RIGHT("hset", WITH_MESSAGES, "HSET @key - - -",
	"to remember where a relay, or a group of Kafka, stands, and to keep "
	"dead and parked messages")
RIGHT("info", ALWAYS, "INFO server",
	"to notice eviction, a change of role and restarts")
RIGHT("pexpire", ALWAYS, "PEXPIRE @key 1", "to extend a record's life")
RIGHT("pexpiretime", ALWAYS, "PEXPIRETIME @key",
	"to say when a record expires")
RIGHT("ping", ALWAYS, "PING", "to notice a Redis that is still loading")
RIGHT("psubscribe", ALWAYS, "PSUBSCRIBE @pattern",
	"to hear of changes, for retries that wait and answers in memory")
RIGHT("pttl", ALWAYS, "PTTL @key", "to learn how much of a record's life is "
	"left")
RIGHT("publish", ALWAYS, "PUBLISH @channel -", "to announce changes")
RIGHT("select", WITH_DB, "SELECT @db", "to select the database of store.redis")
RIGHT("set", ALWAYS, "SET @key - XX", "to write a record")
RIGHT("setrange", ALWAYS, "SETRANGE @key 0 @nothing", "to renew a lease")
RIGHT("time", ALWAYS, "TIME", "to read Redis' clock, which is the one that "
	"counts")
RIGHT("wait", WITH_REPLICAS, "WAIT 0 1",
	"to wait for store.wait_replicas")
RIGHT("xadd", WITH_EVENTS, "XADD @key NOMKSTREAM * id -",
	"to write store.events")
RIGHT("xinfo|stream", WITH_RELAYS, "XINFO STREAM @key",
	"to notice events that were lost before a relay had them")
RIGHT("xlen", WITH_REFUSAL, "XLEN @key", "to count events")
RIGHT("xrange", WITH_RELAYS, "XRANGE @key - + COUNT 0",
	"to read the events that relays bring")
RIGHT("xtrim", WITH_REFUSAL, "XTRIM @key MAXLEN 0",
	"to drop events that all relays have brought")
RIGHT("zadd", ALWAYS, "ZADD @key XX 0 -", "to index a record")
RIGHT("zcard", WITH_SOURCES, "ZCARD @key",
	"to count dead and parked messages")
RIGHT("zrange", ALWAYS, "ZRANGE @key 0 0", "to read an index")
RIGHT("zrem", ALWAYS, "ZREM @key -", "to remove a record from its index")
