/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RIGHT(right, when, probe, words): what the gateway's user of Redis must be
 * allowed to do, by the scripts and beside them; an ACL has a plus sign in
 * front of it.
 *
 * when    ALWAYS, WITH_DB (store.redis names a database), WITH_EVENTS,
 *         WITH_SCRIPT or WITH_FUNCTION (store.scripting), WITH_REPLICAS
 *         (store.wait_replicas), or WITH_CLUSTER
 * probe   a command that changes nothing and needs this right: @key stands
 *         for a key that is never there, @channel for the channel of changes,
 *         @pattern for all of those, @db for the database, @nothing for an
 *         empty argument
 * words   what it is for
 */
RIGHT("asking", WITH_CLUSTER, "ASKING",
	"a key is followed to where its slot is being moved")
RIGHT("client|setname", ALWAYS, "CLIENT SETNAME onceproxy",
	"connections have a name in CLIENT LIST")
RIGHT("cluster|info", WITH_CLUSTER, "CLUSTER INFO",
	"a server that is cut off from the cluster is not believed")
RIGHT("cluster|shards", WITH_CLUSTER, "CLUSTER SHARDS",
	"who has which slots")
RIGHT("del", ALWAYS, "DEL @key", "an operator deletes a record")
RIGHT("eval", WITH_SCRIPT, "EVAL return{} 0",
	"a script that Redis does not have yet")
RIGHT("evalsha", WITH_SCRIPT,
	"EVALSHA 0000000000000000000000000000000000000000 0",
	"a script that it has")
RIGHT("fcall", WITH_FUNCTION, "FCALL onceproxy 0", "the functions are called")
RIGHT("function|load", WITH_FUNCTION, "FUNCTION LOAD @nothing",
	"functions that Redis does not have yet")
RIGHT("get", ALWAYS, "GET @key", "a record is read")
RIGHT("getrange", ALWAYS, "GETRANGE @key 0 0", "a record's head is read")
RIGHT("info", ALWAYS, "INFO server",
	"eviction, a change of role and restarts are noticed")
RIGHT("pexpire", ALWAYS, "PEXPIRE @key 1", "a record's life is put off")
RIGHT("pexpiretime", ALWAYS, "PEXPIRETIME @key",
	"the end of a record is told")
RIGHT("ping", ALWAYS, "PING", "a Redis that is loading is noticed")
RIGHT("psubscribe", ALWAYS, "PSUBSCRIBE @pattern",
	"changes are heard, by retries that wait and for answers in memory")
RIGHT("pttl", ALWAYS, "PTTL @key", "the life that is left is known")
RIGHT("publish", ALWAYS, "PUBLISH @channel -", "changes are told")
RIGHT("select", WITH_DB, "SELECT @db", "the database of store.redis")
RIGHT("set", ALWAYS, "SET @key - XX", "a record is written")
RIGHT("setrange", ALWAYS, "SETRANGE @key 0 @nothing", "a lease is renewed")
RIGHT("time", ALWAYS, "TIME", "Redis' clock is the one that counts")
RIGHT("wait", WITH_REPLICAS, "WAIT 0 1",
	"store.wait_replicas have what was written")
RIGHT("xadd", WITH_EVENTS, "XADD @key NOMKSTREAM * id -",
	"store.events are written")
RIGHT("zadd", ALWAYS, "ZADD @key XX 0 -", "a record is indexed")
RIGHT("zrange", ALWAYS, "ZRANGE @key 0 0", "an index is read")
RIGHT("zrem", ALWAYS, "ZREM @key -", "a record leaves its index")
