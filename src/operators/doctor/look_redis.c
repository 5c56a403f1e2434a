/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/loop/clock.h"
#include "base/mem.h"
#include "base/must.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/look_private.h"
#include "operators/probe/rights.h"
#include "store/record/record.h"
#include "store/record/redis_keys.h"
#include "store/record/script.h"
#include "store/record/seal.h"
#include "store/redis/info.h"
#include "store/redis/managed.h"
#include "store/redis/redis_error.h"
#include "store/redis/tls_session.h"

enum {
	APART_MS = 1000,
	SCANS_MAX = 1000,    /* a look, not an inventory */
	RECORDS_MAX = 10000, /* records that are looked into, at most */
};

enum permitted { PERMIT_UNKNOWN, PERMIT_YES, PERMIT_NO };

struct look_redis {
	struct doctor *doctor;
	const struct conf *conf;
	const struct cluster_masters *masters; /* NULL: no cluster */
	const struct cluster_master *at;       /* of those */
	struct dialled *redis;
	struct function_library *library; /* NULL: scripts run by text */
	const char *pointer;              /* where the file says where it is */

	bool is_replica;
	enum permitted keys, channels;
	char *appendfsync; /* NULL: it may not be asked */
	bool no_config;    /* as Redis has no such command */

	unsigned records; /* that were looked into */
	uint64_t foreign; /* keys that this gateway would not write */
	char *foreign_name;
	uint64_t locked; /* answers encrypted with keys that we do not have */
	char *locked_id;
	uint64_t plain; /* answers that are not encrypted */
};

#define ASK(look, ...) DIAL_ASK((look)->redis, __VA_ARGS__)

static void
add(struct look_redis *look, enum finding_name name, char *detail, char *remedy)
{
	findings_add(look->doctor, name, look->pointer, detail, remedy);
}

/* That connection may also have broken, which is said of all. */
static void
may_not(struct look_redis *look, enum finding_name name, const char *command)
{
	char *why = mem_printf("this Redis user may not run %s", command);
	if (dial_broken(look->redis) == NULL)
		findings_skip(look->doctor, name, why);
	free(why);
}

/* --- coming in --- */

/* What the message says beyond that nothing was heard. */
static const char *
what_else(const struct conf *conf, const char *message)
{
	const struct conf_redis *redis = &conf->store.redis;
	if (redis->tls.on && strcasestr(message, "certificate") != NULL)
		return "; or name in store.tls the authority that issued its "
		       "certificate (ca), or the name that this has "
		       "(server_name)";
	if (strstr(message, "TLS") != NULL)
		return "; or, if it speaks no TLS, write redis:// instead of "
		       "rediss://";
	/* So hiredis says it of the first byte. */
	if (span_starts(span_str(message), SPAN("Protocol error")))
		return "; what answers there now is another program than "
		       "Redis, so it is perhaps the wrong port";
	/* So a server ends it that has waited for a handshake. */
	if (!redis->tls.on && redis->address.kind == ADDRESS_TCP &&
	    !strcmp(message, strerror(ECONNRESET)))
		return "; or, if it speaks TLS, say so: rediss:// instead of "
		       "redis://, or store.tls";
	return "";
}

/* Where the store is that does not answer, and what to do besides. */
static char *
silent_cure(const struct conf *conf, const char *message)
{
	const struct conf_redis *redis = &conf->store.redis;
	char *path = redis->managed ? managed_socket(conf) : NULL;
	const char *known = redis->managed             ? path
			    : redis->cluster.count > 0 ? redis->cluster.list[0]
						       : redis->address.text;
	char *place = known != NULL ? shell_quote(known)
				    : mem_text(redis->sentinels.count > 0
						   ? "it and to each Sentinel"
						   : "it");
	char *text = mem_printf("%s%s%s", place,
	    redis->managed ? "; it starts with its gateway: restart that "
			     "if this stays silent: redis-cli PING"
			   : "",
	    what_else(conf, message));
	free(place);
	free(path);
	return text;
}

static void
note_silent(struct doctor *doctor, const char *pointer, const char *message)
{
	const struct conf *conf = doctor->conf;
	/* The managed Redis ends with its gateway, as it should. */
	bool stopped = conf->store.redis.managed &&
		       (!strcmp(message, strerror(ECONNREFUSED)) ||
			   !strcmp(message, strerror(ENOENT)) ||
			   !strcmp(message, strerror(ENAMETOOLONG)));
	if (stopped) {
		findings_add(doctor, FINDING_redis_stopped, pointer,
		    mem_text(message), shell_quote(conf->file));
		findings_skip(doctor, FINDING_redis_unreachable,
		    "the managed Redis is not running");
	} else if (!strcmp(message, tls_session_lacks_certificate)) {
		findings_add(
		    doctor, FINDING_redis_certificate, pointer, NULL, NULL);
		return;
	} else {
		findings_add(doctor, FINDING_redis_unreachable, pointer,
		    mem_text(message), silent_cure(conf, message));
	}
	findings_skip(
	    doctor, FINDING_redis_certificate, "Redis could not be examined");
}

void
look_redis_unseen(
    struct doctor *doctor, const char *pointer, const char *message)
{
	static const char why[] = "Redis could not be examined";
	const struct conf_redis *at = &doctor->conf->store.redis;
	if (redis_error_is_login(span_str(message))) {
		char *acl = rights_acl(doctor->conf);
		/* So Redis says that it wants none. */
		bool none = strstr(message, "without any password") != NULL;
		findings_add(doctor, FINDING_redis_login,
		    at->user ? "/store/user" : pointer, mem_text(message),
		    mem_printf("%s%s", acl,
			none ? "; or leave store.password out, if this Redis "
			       "is to have none"
			     : ""));
		free(acl);
	} else if (span_starts(span_str(message), SPAN("ERR DB"))) {
		findings_add(doctor, FINDING_redis_database, "/store/redis",
		    mem_printf("%" PRId64 ": %s", at->db, message), NULL);
	} else {
		note_silent(doctor, pointer, message);
	}
	findings_skip_all(doctor, NEEDS_REDIS, why);
	findings_skip_all(doctor, NEEDS_INFO, why);
}

struct dialled *
look_redis_enter(
    struct dialled *redis, const struct conf_redis *at, char **ret_message)
{
	if (redis == NULL || dial_select(redis, at, ret_message))
		return redis;
	enum redis_error error = redis_error_of(span_str(*ret_message));
	if (error == REDIS_ERROR_NOPERM || error == REDIS_ERROR_MISCONF) {
		free(*ret_message);
		*ret_message = NULL;
	} else {
		dial_free(&redis);
	}
	return redis;
}

/* --- rights --- */

/* The key is on another server, or being moved there. */
static bool
is_on_its_way(const redisReply *reply)
{
	enum redis_error error = redis_error_of_reply(reply);
	return error == REDIS_ERROR_ASK || error == REDIS_ERROR_MOVED;
}

/*
 * What the answer to a probe shows: Redis checks the right to the command
 * first, then to keys and channels, and then whether it can run now.  True: our
 * user may not run the command.
 */
static bool
note_answer(
    struct look_redis *look, const struct right *right, const redisReply *reply)
{
	const char *text = right->probe;
	const char *message =
	    dial_is(reply, REDIS_REPLY_ERROR) ? reply->str : "";
	bool refused = redis_error_of_reply(reply) == REDIS_ERROR_NOPERM;
	if (refused && strstr(message, "run the") != NULL)
		return true;
	enum permitted is = refused ? PERMIT_NO : PERMIT_YES;
	if (strstr(text, "@key") != NULL && look->keys != PERMIT_NO)
		look->keys = is;
	if ((strstr(text, "@channel") || strstr(text, "@pattern")) &&
	    look->channels != PERMIT_NO)
		look->channels = is;
	if (!strcmp(right->name, "set") && *message != '\0' && !refused &&
	    !look->is_replica && !is_on_its_way(reply))
		add(look, FINDING_writes, mem_text(message), NULL);
	return false;
}

static void
print_right(FILE *out, const char *sign, const char *right, const char *why)
{
	fprintf(
	    out, "%s%s%s (%s)", ftell(out) > 0 ? ", " : "", sign, right, why);
}

/* Prints what our user may not run, and as what an ACL gives it. */
static void
try_rights(
    struct look_redis *look, const char *channels, FILE *lacks, FILE *rules)
{
	const struct conf_store *store = &look->conf->store;
	char db[DIGITS_MAX + 1] = "";
	char *key = mem_printf("%s:{%u}:doctor", store->prefix,
	    look->at != NULL ? look->at->shard : 0);
	char *channel = mem_printf("%s:{0}:changes", store->prefix);
	const struct dial_word words[] = {{"@key", key}, {"@channel", channel},
	    {"@pattern", channels}, {"@db", db}, {"@nothing", ""}};
	digits_put(db, store->redis.db);
	for (size_t i = 0; i < n_rights; i++) {
		const redisReply *reply = NULL;
		if (rights_needed(look->conf, i))
			reply = dial_probe(look->redis, rights[i].probe, words,
			    sizeof words / sizeof *words);
		if (reply == NULL || !note_answer(look, &rights[i], reply))
			continue;
		print_right(lacks, "+", rights[i].name, rights[i].message);
		fprintf(rules, " +%s", rights[i].name);
	}
	free(key);
	free(channel);
}

/*
 * The last question: after it the connection can do nothing but listen.  A
 * pattern is added only where it is needed: Redis refuses one beside "all".  A
 * user without any of the commands that take one has no use for it.
 */
static void
look_at_rights(struct look_redis *look)
{
	const struct conf *conf = look->conf;
	const char *user = conf->store.redis.user;
	char *lacks = NULL, *cure = NULL, *keys, *channels;
	rights_patterns(conf, &keys, &channels);
	FILE *out = mem_stream(&lacks);
	FILE *line = mem_stream(&cure);
	fprintf(line, "ACL SETUSER %s", user ? user : "default");
	try_rights(look, channels + 1, out, line);
	if (look->keys != PERMIT_YES)
		fprintf(line, " %s%s",
		    look->keys == PERMIT_UNKNOWN ? "resetkeys " : "", keys);
	if (look->channels != PERMIT_YES)
		fprintf(line, " %s%s",
		    look->channels == PERMIT_UNKNOWN ? "resetchannels " : "",
		    channels);
	if (look->keys == PERMIT_NO)
		print_right(out, "", keys, "our keys");
	if (look->channels == PERMIT_NO)
		print_right(out, "", channels, "our channels");
	must(fclose(out) == 0 && fclose(line) == 0);
	if (*lacks != '\0' && dial_broken(look->redis) == NULL)
		findings_add(look->doctor, FINDING_rights,
		    user ? "/store/user" : look->pointer, mem_text(lacks),
		    mem_text(cure));
	free(lacks);
	free(cure);
	free(keys);
	free(channels);
}

/* --- what it says of itself --- */

static void
judge_role(struct look_redis *look, struct span info)
{
	if (info_fault(look->conf, info) == FAULT_VERSION)
		add(look, FINDING_redis_old,
		    mem_str(info_value(info, SPAN("redis_version"))), NULL);
	struct span host = info_value(info, SPAN("master_host"));
	struct span port = info_value(info, SPAN("master_port"));
	look->is_replica = !info_is_master(info);
	if (look->is_replica)
		add(look, FINDING_redis_replica,
		    mem_printf("%.*s:%.*s", SPAN_FMT(host), SPAN_FMT(port)),
		    NULL);
}

static void
judge_memory(struct look_redis *look, struct span info)
{
	bool allowed = look->conf->store.allow_eviction;
	uint64_t most = info_number(info, SPAN("maxmemory"));
	uint64_t used = info_number(info, SPAN("used_memory"));
	if (info_may_evict(info)) {
		struct span policy = info_value(info, SPAN("maxmemory_policy"));
		findings_add(look->doctor,
		    allowed ? FINDING_eviction_allowed : FINDING_eviction,
		    allowed ? "/store/allow_eviction" : look->pointer,
		    mem_printf("maxmemory-policy is %.*s", SPAN_FMT(policy)),
		    NULL);
	}
	if (most > 0 && used > most - most / 5)
		add(look, FINDING_memory,
		    mem_printf("%" PRIu64 " of %" PRIu64 " bytes are used",
			used, most),
		    mem_printf("%" PRIu64, 2 * used));
}

/*
 * One that has no CONFIG is somebody's service, and may write a log of its own,
 * of which nothing is seen.
 */
static void
judge_persistence(struct look_redis *look, struct span info)
{
	bool keeps = !span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0"));
	if (!keeps)
		add(look,
		    look->no_config ? FINDING_persistence_hidden
				    : FINDING_persistence,
		    NULL, NULL);
	if (!keeps)
		findings_skip(look->doctor, FINDING_appendfsync,
		    "there is no append-only file");
	else if (look->appendfsync == NULL)
		may_not(look, FINDING_appendfsync, "CONFIG GET appendfsync");
	else if (strcmp(look->appendfsync, "always") != 0)
		add(look, FINDING_appendfsync, mem_text(look->appendfsync),
		    NULL);
}

/* What a replica of it is told. */
static char *
replicaof(const struct doctor *doctor, struct span info)
{
	const struct conf_redis *redis = &doctor->conf->store.redis;
	const struct address *at = &redis->address;
	char *own = mem_str(info_value(info, SPAN("tcp_port")));
	/* One that listens on a socket alone has to be given a port first. */
	char *place =
	    doctor->master.host[0] != '\0'
		? mem_printf("%s %u", doctor->master.host, doctor->master.port)
	    : at->kind == ADDRESS_TCP
		? mem_printf("%s %u", at->host, at->port)
		: mem_printf("HOST-OF-THIS-ONE %s",
		      strcmp(own, "0") ? own : "PORT-OF-THIS-ONE");
	/* Else it speaks plainly to a port with TLS, or is not let in. */
	char *words = mem_printf("%s%s%s", place,
	    redis->tls.on ? " and tls-replication yes" : "",
	    redis->password != NULL ? " and masterauth PASSWORD" : "");
	free(place);
	free(own);
	return words;
}

static void
judge_replicas(struct look_redis *look, struct span info)
{
	int64_t wanted = look->conf->store.wait_replicas;
	int online = info_replicas(info);
	bool alone = info_is_master(info) &&
		     info_number(info, SPAN("connected_slaves")) == 0;
	if (online < wanted)
		findings_add(look->doctor, FINDING_replicas_few,
		    "/store/wait_replicas",
		    mem_printf("%d of %" PRId64, online, wanted), NULL);
	alone = alone && !look->conf->store.redis.managed;
	if (alone && look->doctor->place == NULL)
		add(look, FINDING_no_replica, NULL,
		    replicaof(look->doctor, info));
	else if (alone)
		add(look, FINDING_cluster_replica, NULL,
		    mem_text(look->doctor->place));
}

static void
look_at_info(struct look_redis *look)
{
	const redisReply *reply = ASK(look, "INFO");
	if (dial_is(reply, REDIS_REPLY_STRING)) {
		struct span info = span_of(reply->str, reply->len);
		judge_role(look, info);
		judge_memory(look, info);
		judge_persistence(look, info);
		judge_replicas(look, info);
	} else if (dial_broken(look->redis) == NULL) {
		findings_skip_all(look->doctor, NEEDS_INFO,
		    "this Redis user may not run INFO");
	}
}

/* The value; NULL: it may not be asked. */
static char *
config_of(struct look_redis *look, const char *name)
{
	const redisReply *reply = ASK(look, "CONFIG", "GET", name);
	if (dial_is(reply, REDIS_REPLY_ARRAY) && reply->elements == 2)
		return mem_str(resp_text(reply->element[1]));
	look->no_config = redis_error_of_reply(reply) == REDIS_ERROR_ERR;
	return NULL;
}

static void
look_at_config(struct look_redis *look)
{
	look->appendfsync = config_of(look, "appendfsync");
	if (look->doctor->place == NULL)
		return;
	char *covers = config_of(look, "cluster-require-full-coverage");
	if (covers == NULL)
		may_not(look, FINDING_cluster_coverage, "CONFIG GET");
	else if (!strcmp(covers, "yes"))
		add(look, FINDING_cluster_coverage, NULL,
		    mem_text(look->doctor->place));
	free(covers);
}

/* How far its clock is from ours, beyond what the time on the way explains. */
static void
look_at_clock(struct look_redis *look)
{
	int64_t now_ms, before_ms = clock_wall_ms();
	const redisReply *reply = ASK(look, "TIME");
	int64_t after_ms = clock_wall_ms();
	if (reply == NULL || !resp_read_time(reply, &now_ms)) {
		may_not(look, FINDING_clocks, "TIME");
		return;
	}
	int64_t apart_ms = now_ms < before_ms  ? now_ms - before_ms
			   : now_ms > after_ms ? now_ms - after_ms
					       : 0;
	if (llabs(apart_ms) >= APART_MS)
		add(look, FINDING_clocks,
		    mem_printf("%.1f s %s", (double)llabs(apart_ms) / 1000,
			apart_ms > 0 ? "ahead" : "behind"),
		    NULL);
}

/* --- what lies there --- */

/* In a cluster one master has it, and the others know where it is. */
static void
look_at_store_id(struct look_redis *look)
{
	char *name = mem_printf("%s:{0}:store", look->conf->store.prefix);
	const redisReply *reply = ASK(look, "GET", name);
	if (dial_is(reply, REDIS_REPLY_STRING)) {
		free(look->doctor->store_id);
		look->doctor->store_id =
		    mem_str(span_of(reply->str, reply->len));
	}
	free(name);
}

/*
 * Counts the records of a shard that are not final.  A Redis without our
 * functions has none if there is nothing but an anchor.
 */
static bool
count_shard(
    struct look_redis *look, int64_t shard, uint64_t *unknown, uint64_t *failed)
{
	const char *prefix = look->conf->store.prefix;
	char *leases = mem_printf("%s:{%" PRId64 "}:leases", prefix, shard);
	char *held = mem_printf("%s:{%" PRId64 "}:held", prefix, shard);
	const struct function_library *library = look->library;
	const redisReply *reply =
	    library != NULL
		? ASK(look, "FCALL", library->functions[SCRIPT_count], "2",
		      leases, held, "doctor")
		: ASK(look, "EVAL", script_text(SCRIPT_count).ptr, "2", leases,
		      held, "doctor");
	bool ok = dial_is(reply, REDIS_REPLY_ARRAY) && reply->elements >= 7;
	if (ok) {
		*unknown += (uint64_t)reply->element[5]->integer;
		*failed += (uint64_t)reply->element[6]->integer;
	} else if (redis_error_of_reply(reply) == REDIS_ERROR_NO_FUNCTION) {
		reply = ASK(look, "ZRANGE", held, "0", "0");
		ok = dial_is(reply, REDIS_REPLY_ARRAY) &&
		     (reply->elements == 0 ||
			 span_eq(resp_text(reply->element[0]), SPAN("-")));
	}
	free(leases);
	free(held);
	return ok;
}

/* Another master of the cluster is examined for its own shards. */
static void
count_records(struct look_redis *look)
{
	uint64_t unknown = 0, failed = 0;
	bool counted = true;
	for (int64_t i = 0; i < look->conf->store.shards && counted; i++)
		if (look->masters == NULL ||
		    &look->masters->list[servers_master_of(
			look->masters, (unsigned)i)] == look->at)
			counted = count_shard(look, i, &unknown, &failed);
	if (!counted && dial_broken(look->redis) == NULL) {
		const char why[] = "the records could not be counted";
		findings_skip(look->doctor, FINDING_records_unknown, why);
		findings_skip(look->doctor, FINDING_records_failed, why);
		return;
	}
	if (unknown > 0)
		findings_add(look->doctor, FINDING_records_unknown, NULL,
		    mem_printf("%" PRIu64, unknown),
		    shell_quote(look->conf->file));
	if (failed > 0)
		findings_add(look->doctor, FINDING_records_failed, NULL,
		    mem_printf("%" PRIu64, failed),
		    shell_quote(look->conf->file));
}

/* An answer without encryption, or with a key that we do not have? */
static void
look_at_seal(struct look_redis *look, struct span value)
{
	struct record record;
	struct span id;
	if (record_read(value, &record) != 0 || record.state != STATE_COMPLETED)
		return;
	if (!seal_key_of(record.rest, &id)) {
		look->plain++;
	} else if (seal_find_key(&look->conf->store, id) == NULL) {
		look->locked++;
		if (look->locked_id == NULL)
			look->locked_id = mem_str(id);
	}
}

/* What has a record's name may be of another version, or no record at all. */
static void
look_at_key(struct look_redis *look, const char *name)
{
	enum redis_keys_kind kind = redis_keys_kind(look->conf, span_str(name));
	bool other = kind == KEY_OTHER;
	if (kind == KEY_RECORD && look->records++ < RECORDS_MAX) {
		/* So much has the id of an answer's key. */
		const redisReply *reply =
		    ASK(look, "GETRANGE", name, "0", "511");
		bool text = dial_is(reply, REDIS_REPLY_STRING);
		struct span value =
		    text ? span_of(reply->str, reply->len) : SPAN("");
		other =
		    text ? value.len > 0 && !span_starts(value, SPAN("o1")) &&
			       !span_starts(value, SPAN("o2"))
			 : reply != NULL && !dial_is(reply, REDIS_REPLY_NIL) &&
			       !is_on_its_way(reply);
		if (text && !other)
			look_at_seal(look, value);
	}
	if (!other)
		return;
	look->foreign++;
	if (look->foreign_name == NULL)
		look->foreign_name = mem_text(name);
}

/* Walks over the keys below store.prefix, a thousand a question. */
static bool
scan_keys(struct look_redis *look)
{
	char *cursor = mem_text("0");
	char *pattern = mem_printf("%s:*", look->conf->store.prefix);
	bool more = true, scanned = true;
	for (int i = 0; i < SCANS_MAX && more; i++) {
		const redisReply *reply = ASK(
		    look, "SCAN", cursor, "MATCH", pattern, "COUNT", "1000");
		scanned =
		    dial_is(reply, REDIS_REPLY_ARRAY) && reply->elements == 2;
		if (!scanned)
			break;
		/* The next question takes the reply away. */
		const redisReply *list = reply->element[1];
		size_t count = list->elements;
		char **names = mem_zero((count + 1) * sizeof *names);
		for (size_t k = 0; k < count; k++)
			names[k] = mem_str(resp_text(list->element[k]));
		free(cursor);
		cursor = mem_str(resp_text(reply->element[0]));
		more = *cursor != '\0' && strcmp(cursor, "0") != 0;
		for (size_t k = 0; k < count; k++) {
			look_at_key(look, names[k]);
			free(names[k]);
		}
		free(names);
	}
	free(cursor);
	free(pattern);
	return scanned;
}

static void
look_at_keys(struct look_redis *look)
{
	static const char pointer[] = "/store/encryption_keys";
	struct doctor *doctor = look->doctor;
	bool scanned = scan_keys(look);
	if (look->conf->store.n_encryption_keys > 0 && look->plain > 0)
		findings_add(doctor, FINDING_plain_answers, pointer,
		    mem_printf("%" PRIu64, look->plain), NULL);
	if (!scanned) {
		may_not(look, FINDING_plain_answers, "SCAN");
		may_not(look, FINDING_foreign_keys, "SCAN");
		may_not(look, FINDING_encryption_keys, "SCAN");
	}
	if (look->foreign > 0)
		findings_add(doctor, FINDING_foreign_keys, "/store/prefix",
		    mem_printf("%" PRIu64 ", such as %s", look->foreign,
			look->foreign_name),
		    shell_quote(look->foreign_name));
	if (look->locked > 0)
		findings_add(doctor, FINDING_encryption_keys, pointer,
		    mem_printf("%" PRIu64 ", for example with \"%s\"",
			look->locked, look->locked_id),
		    mem_printf("{\"id\": \"%s\", \"key\": {\"file\": FILE}}",
			look->locked_id));
}

/* --- all of it --- */

void
look_redis(struct doctor *doctor, const char *pointer,
    const struct cluster_masters *masters, const struct cluster_master *at)
{
	struct look_redis look = {.doctor = doctor,
	    .conf = doctor->conf,
	    .masters = masters,
	    .at = at,
	    .pointer = pointer};
	const struct conf_redis *there = &look.conf->store.redis;
	char *message = NULL;
	if (look.conf->store.functions)
		look.library = script_library_new();
	struct dialled *redis =
	    at == NULL ? servers_dial(look.conf, there, &message)
		       : DIAL_TCP(look.conf, there, at->place.host,
			     at->place.port, &message);
	look.redis = look_redis_enter(redis, there, &message);
	if (look.redis == NULL) {
		look_redis_unseen(doctor, pointer, message);
	} else {
		look_at_config(&look);
		look_at_info(&look);
		look_at_clock(&look);
		look_at_store_id(&look);
		count_records(&look);
		look_at_keys(&look);
		look_at_rights(&look);
		const char *broken = dial_broken(look.redis);
		if (broken != NULL)
			look_redis_unseen(doctor, pointer, broken);
		dial_free(&look.redis);
	}
	free(message);
	script_library_free(&look.library);
	free(look.appendfsync);
	free(look.foreign_name);
	free(look.locked_id);
}
