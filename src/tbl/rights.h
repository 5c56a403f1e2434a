/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RIGHT(right, when, probe, message): what the gateway's user of Redis must be
 * allowed to do, within scripts and outside of them; an ACL puts a plus sign in
 * front of each.
 *
 *   when     always, or with what a configuration has (probe/rights.c):
 *            database (store.redis names one), events, script or function
 *            (store.scripting), replicas (store.wait_replicas), cluster,
 *            sources, relays, messages (sources or relays), hashes (relays, or
 *            a source of Kafka), webhooks, or refusal (store.events.overflow)
 *   probe    a command that changes nothing and needs this right: @key stands
 *            for a key that never exists, @channel for the channel of changes,
 *            @pattern for all of those, @db for the database, @nothing for an
 *            empty argument
 *   message  what it is for
 */
RIGHT("asking", cluster, "ASKING",
	"to follow a key to where its slot is being moved")
RIGHT("client|setname", always, "CLIENT SETNAME onceproxy",
	"to give connections a name in CLIENT LIST")
RIGHT("cluster|info", cluster, "CLUSTER INFO",
	"to notice a server that is cut off from the cluster")
RIGHT("cluster|shards", cluster, "CLUSTER SHARDS",
	"to learn which server has which slots")
RIGHT("del", always, "DEL @key", "to delete a record")
RIGHT("eval", script, "EVAL return{} 0",
	"to run a script that Redis does not have yet")
RIGHT("evalsha", script,
	"EVALSHA 0000000000000000000000000000000000000000 0",
	"to run a script that Redis has")
RIGHT("exists", always, "EXISTS @key",
	"to notice an entity that is on its way to another server")
RIGHT("fcall", function, "FCALL onceproxy 0", "to call the functions")
RIGHT("function|load", function, "FUNCTION LOAD @nothing",
	"to load functions that Redis does not have yet")
RIGHT("get", always, "GET @key", "to read a record")
RIGHT("getrange", always, "GETRANGE @key 0 0", "to read a record's head")
RIGHT("hdel", hashes, "HDEL @key -", "to forget an event that was "
	"brought, or a relay that is no longer configured")
RIGHT("hget", hashes, "HGET @key -",
	"to read where a relay, or a group of Kafka, stands")
RIGHT("hgetall", webhooks, "HGETALL @key",
	"to find the events that are to be brought")
RIGHT("hkeys", hashes, "HKEYS @key",
	"to find a relay that is no longer configured, or what a group of "
	"Kafka reads")
RIGHT("hmget", sources, "HMGET @key -",
	"to read a dead or parked message, and which store was accepted")
RIGHT("hvals", refusal, "HVALS @key",
	"to notice that relays have not brought what store.events.overflow "
	"keeps for them")
RIGHT("hset", messages, "HSET @key - - -",
	"to remember where a relay, or a group of Kafka, stands, and to keep "
	"dead and parked messages")
RIGHT("info", always, "INFO server",
	"to notice eviction, a change of role and restarts")
RIGHT("pexpire", always, "PEXPIRE @key 1", "to extend a record's life")
RIGHT("pexpiretime", always, "PEXPIRETIME @key",
	"to say when a record expires")
RIGHT("ping", always, "PING", "to notice a Redis that is still loading")
RIGHT("pttl", always, "PTTL @key", "to learn how much of a record's life is "
	"left")
RIGHT("publish", always, "PUBLISH @channel -", "to announce changes")
RIGHT("select", database, "SELECT @db", "to select the database of store.redis")
RIGHT("set", always, "SET @key - XX", "to write a record")
RIGHT("setrange", always, "SETRANGE @key 0 @nothing", "to renew a lease")
RIGHT("time", always, "TIME", "to read Redis' clock, which is the one that "
	"counts")
RIGHT("wait", replicas, "WAIT 0 1",
	"to wait for store.wait_replicas")
RIGHT("xadd", events, "XADD @key NOMKSTREAM * id -",
	"to write store.events")
RIGHT("xinfo|stream", relays, "XINFO STREAM @key",
	"to notice events that were lost before a relay had them")
RIGHT("xlen", refusal, "XLEN @key", "to count events")
RIGHT("xrange", relays, "XRANGE @key - + COUNT 0",
	"to read the events that relays bring")
RIGHT("xtrim", refusal, "XTRIM @key MAXLEN 0",
	"to drop events that all relays have brought")
RIGHT("zadd", always, "ZADD @key XX 0 -", "to index a record")
RIGHT("zcard", sources, "ZCARD @key",
	"to count dead and parked messages")
RIGHT("zrange", always, "ZRANGE @key 0 0", "to read an index")
RIGHT("zrem", always, "ZREM @key -", "to remove a record from its index")
/* The last: a connection can do nothing behind it but listen. */
RIGHT("psubscribe", always, "PSUBSCRIBE @pattern",
	"to hear of changes, for retries that wait and answers in memory")
