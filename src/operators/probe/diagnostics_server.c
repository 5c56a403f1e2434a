/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/loop/loop.h"
#include "base/mem.h"
#include "operators/probe/cluster_query.h"
#include "operators/probe/diagnostics_server.h"
#include "operators/probe/dial.h"
#include "operators/probe/dial_redis.h"
#include "operators/probe/rights.h"
#include "store/record/redis_keys.h"
#include "store/record/script.h"
#include "store/record/seal.h"
#include "store/redis/redis_error.h"
#include "store/redis/resp.h"

enum {
	WORDS_MAX = 8, /* words in a probe, at most */
	SCAN_COUNT = 1000,
	SCANS_MAX = 1000,    /* SCANs: a look, not an inventory */
	RECORDS_MAX = 10000, /* records that are looked into, at most */
	LOOK_BYTES = 512,     /* of each: an answer's key id is within */
};

struct look {
	const struct conf *conf;
	const struct cluster_masters *masters; /* NULL: no cluster */
	const struct cluster_master *at;       /* of those */
	struct dialled *redis;
	struct diagnostics *seen;
	unsigned records; /* records that were looked into */
	struct function_library *library; /* NULL: scripts run by text */
};

/* --- asking --- */

/* Any reply, errors included; NULL: the connection broke. */
static redisReply *
send_question(struct look *look, size_t count, const char **words)
{
	redisReply *reply = dial_ask(look->redis, count, words);
	if (reply == NULL && look->seen->how == REDIS_SEEN) {
		look->seen->how = REDIS_SILENT;
		look->seen->message =
		    mem_str(span_str(dial_message(look->redis)));
	}
	return reply;
}

#define ASK(look, ...)                                       \
	send_question((look), sizeof((const char *[]){__VA_ARGS__}) /  \
	    sizeof(const char *), (const char *[]){__VA_ARGS__})

static bool
is_broken(const struct look *look)
{
	return look->seen->how != REDIS_SEEN;
}

static bool
is_kind(const redisReply *reply, int type)
{
	return reply != NULL && reply->type == type;
}

/* The key is on another server, or being moved there. */
static bool
is_on_its_way(const redisReply *reply)
{
	enum redis_error error = redis_error_of_reply(reply);
	return error == REDIS_ERROR_ASK || error == REDIS_ERROR_MOVED;
}

/* --- rights --- */

static const char *
probe_word(const struct look *look, struct span word, char **ret_made)
{
	const struct conf *conf = look->conf;
	const char *prefix = conf->store.prefix;
	unsigned shard = look->at != NULL ? look->at->shard : 0;
	if (span_eq(word, SPAN("@key")))
		*ret_made = mem_printf("%s:{%u}:doctor", prefix, shard);
	else if (span_eq(word, SPAN("@channel")))
		*ret_made = mem_printf("%s:{0}:changes", prefix);
	else if (span_eq(word, SPAN("@pattern")))
		*ret_made = mem_printf("%s:{*}:changes", prefix);
	else if (span_eq(word, SPAN("@db")))
		*ret_made = mem_printf("%" PRId64, conf->store.redis.db);
	else if (span_eq(word, SPAN("@nothing")))
		*ret_made = mem_str(SPAN(""));
	else
		*ret_made = mem_str(word);
	return *ret_made;
}

/*
 * What the answer to a probe shows: Redis checks the right to the command
 * first, then to keys and channels, and then whether it can run now.
 */
static void
note_answer(struct diagnostics *seen, size_t right, const redisReply *reply)
{
	const char *text = rights[right].probe;
	const char *message =
	    reply->type == REDIS_REPLY_ERROR ? reply->str : "";
	bool refused = redis_error_of_reply(reply) == REDIS_ERROR_NOPERM;
	if (refused && strstr(message, "run the") != NULL) {
		seen->missing[right] = true;
		return;
	}
	enum permitted is = refused ? PERMIT_NO : PERMIT_YES;
	if (strstr(text, "@key") != NULL && seen->keys != PERMIT_NO)
		seen->keys = is;
	if ((strstr(text, "@channel") || strstr(text, "@pattern")) &&
	    seen->channels != PERMIT_NO)
		seen->channels = is;
	if (!strcmp(rights[right].name, "set") && *message != '\0' &&
	    !refused && !is_on_its_way(reply))
		seen->refused = mem_str(span_str(message));
}

static void
probe(struct look *look, size_t right)
{
	const char *words[WORDS_MAX];
	char *made[WORDS_MAX];
	size_t count = 0;
	struct span rest = span_str(rights[right].probe), word;
	while (span_next(&rest, ' ', &word)) {
		must(count < WORDS_MAX);
		words[count] = probe_word(look, word, &made[count]);
		count++;
	}
	redisReply *reply = send_question(look, count, words);
	if (reply != NULL)
		note_answer(look->seen, right, reply);
	freeReplyObject(reply);
	while (count > 0)
		free(made[--count]);
}

/* After it, the connection can do nothing but listen. */
static bool
is_last(const struct right *right)
{
	return !strcmp(right->name, "psubscribe");
}

static void
look_at_rights(struct look *look, bool last)
{
	for (size_t i = 0; i < n_rights && !is_broken(look); i++)
		if (is_last(&rights[i]) == last &&
		    rights_needed(look->conf, &rights[i]))
			probe(look, i);
}

/* --- what it says of itself --- */

static void
look_at_info(struct look *look)
{
	redisReply *reply = ASK(look, "INFO");
	if (is_kind(reply, REDIS_REPLY_STRING))
		look->seen->info = mem_str(span_of(reply->str, reply->len));
	freeReplyObject(reply);
}

/* The value; NULL: our user may not ask. */
static char *
look_at_config(struct look *look, const char *name)
{
	char *value = NULL;
	redisReply *reply = ASK(look, "CONFIG", "GET", name);
	if (is_kind(reply, REDIS_REPLY_ARRAY) && reply->elements == 2)
		value = mem_str(resp_text(reply->element[1]));
	freeReplyObject(reply);
	return value;
}

static void
look_at_clock(struct look *look)
{
	int64_t now_ms, before_ms = clock_wall_ms();
	redisReply *reply = ASK(look, "TIME");
	int64_t after_ms = clock_wall_ms();
	if (reply != NULL && resp_read_time(reply, &now_ms)) {
		look->seen->clock_known = true;
		look->seen->apart_ms = now_ms < before_ms ? now_ms - before_ms
		    : now_ms > after_ms                   ? now_ms - after_ms
							  : 0;
	}
	freeReplyObject(reply);
}

/* --- what lies there --- */

/* In a cluster one master has it, and the others know where it is. */
static void
look_at_store_id(struct look *look)
{
	char *name = mem_printf("%s:{0}:store", look->conf->store.prefix);
	redisReply *reply = ASK(look, "GET", name);
	if (is_kind(reply, REDIS_REPLY_STRING))
		look->seen->store_id =
		    mem_str(span_of(reply->str, reply->len));
	freeReplyObject(reply);
	free(name);
}

/* Nothing to count but an anchor; for a Redis without our functions. */
static bool
holds_nothing(struct look *look, const char *held)
{
	redisReply *reply = ASK(look, "ZRANGE", held, "0", "0");
	bool nothing = is_kind(reply, REDIS_REPLY_ARRAY) &&
	    (reply->elements == 0 ||
		span_eq(resp_text(reply->element[0]), SPAN("-")));
	freeReplyObject(reply);
	return nothing;
}

static bool
count_shard(struct look *look, int64_t shard)
{
	const char *prefix = look->conf->store.prefix;
	struct diagnostics *seen = look->seen;
	char *leases = mem_printf("%s:{%" PRId64 "}:leases", prefix, shard);
	char *held = mem_printf("%s:{%" PRId64 "}:held", prefix, shard);
	const struct function_library *library = look->library;
	redisReply *reply = library != NULL
	    ? ASK(look, "FCALL", library->functions[SCRIPT_count], "2", leases,
		  held, "doctor")
	    : ASK(look, "EVAL", script_text(SCRIPT_count).ptr, "2", leases,
		  held, "doctor");
	bool ok = is_kind(reply, REDIS_REPLY_ARRAY) && reply->elements == 7;
	if (ok) {
		seen->unknown += (uint64_t)reply->element[5]->integer;
		seen->failed += (uint64_t)reply->element[6]->integer;
	} else if (redis_error_of_reply(reply) == REDIS_ERROR_NO_FUNCTION) {
		ok = holds_nothing(look, held);
	}
	freeReplyObject(reply);
	free(leases);
	free(held);
	return ok;
}

/* Whether this master has it; another one is examined for the others. */
static bool
has_shard(const struct look *look, unsigned shard)
{
	if (look->masters == NULL)
		return true;
	const struct slots *slots = look->masters->slots;
	uint16_t owner = slots->owner[slots_of_shard(shard)];
	return owner != 0 &&
	    redis_address_eq(&slots->addresses[owner - 1], &look->at->place);
}

static void
count_records(struct look *look)
{
	look->seen->counted = true;
	for (int64_t i = 0; i < look->conf->store.shards; i++)
		if (has_shard(look, (unsigned)i) && !count_shard(look, i)) {
			look->seen->counted = false;
			return;
		}
}

/* The names of our libraries of other versions. */
static void
look_at_libraries(struct look *look)
{
	if (look->library == NULL)
		return;
	redisReply *reply =
	    ASK(look, "FUNCTION", "LIST", "LIBRARYNAME", "onceproxy_*");
	if (!is_kind(reply, REDIS_REPLY_ARRAY)) {
		freeReplyObject(reply);
		return;
	}
	size_t len;
	FILE *out = open_memstream(&look->seen->libraries, &len);
	must(out != NULL);
	for (size_t i = 0; i < reply->elements; i++) {
		/* "library_name", the name; other such pairs follow. */
		const redisReply *library = reply->element[i];
		const char *name =
		    library->elements > 1 ? library->element[1]->str : NULL;
		if (name != NULL && strcmp(name, look->library->name) != 0)
			fprintf(out, "%s%s", ftell(out) ? ", " : "", name);
	}
	must(fclose(out) == 0);
	freeReplyObject(reply);
}

/* Counts an answer without encryption, or with a key that we do not have. */
static void
look_at_seal(struct look *look, struct span value)
{
	struct record record;
	struct span id;
	if (record_read(value, &record) != 0 ||
	    record.state != STATE_COMPLETED)
		return;
	if (!seal_key_of(record.rest, &id)) {
		look->seen->plain++;
		return;
	}
	if (seal_find_key(&look->conf->store, id) != NULL)
		return;
	look->seen->locked++;
	if (look->seen->locked_id == NULL)
		look->seen->locked_id = mem_str(id);
}

/* What has a record's name is of another version, or no record at all. */
static bool
is_other_version(struct look *look, const char *name)
{
	char end[24];
	if (look->records++ >= RECORDS_MAX)
		return false;
	snprintf(end, sizeof end, "%d", LOOK_BYTES - 1);
	redisReply *reply = ASK(look, "GETRANGE", name, "0", end);
	bool other = reply != NULL && !is_kind(reply, REDIS_REPLY_NIL) &&
	    !is_on_its_way(reply) &&
	    (reply->type != REDIS_REPLY_STRING ||
		(reply->len > 0 && strncmp(reply->str, "o1", 2) != 0 &&
		strncmp(reply->str, "o2", 2) != 0));
	if (is_kind(reply, REDIS_REPLY_STRING) && !other)
		look_at_seal(look, span_of(reply->str, reply->len));
	freeReplyObject(reply);
	return other;
}

static void
look_at_key(struct look *look, const char *name)
{
	enum redis_keys_kind kind = redis_keys_kind(look->conf, span_str(name));
	if (kind == KEY_OTHER ||
	    (kind == KEY_RECORD && is_other_version(look, name))) {
		look->seen->foreign++;
		if (look->seen->foreign_name == NULL)
			look->seen->foreign_name = mem_str(span_str(name));
	}
}

/* One SCAN; false: that was the last. */
static bool
scan_piece(struct look *look, const char *pattern, char **cursor)
{
	char count[24];
	snprintf(count, sizeof count, "%d", SCAN_COUNT);
	redisReply *reply =
	    ASK(look, "SCAN", *cursor, "MATCH", pattern, "COUNT", count);
	bool more = false;
	look->seen->scanned =
	    is_kind(reply, REDIS_REPLY_ARRAY) && reply->elements == 2;
	if (look->seen->scanned) {
		const redisReply *names = reply->element[1];
		for (size_t i = 0; i < names->elements; i++)
			if (is_kind(names->element[i], REDIS_REPLY_STRING))
				look_at_key(look, names->element[i]->str);
		free(*cursor);
		*cursor = mem_str(resp_text(reply->element[0]));
		more = **cursor != '\0' && strcmp(*cursor, "0") != 0;
	}
	freeReplyObject(reply);
	return more && !is_broken(look);
}

static void
scan(struct look *look)
{
	char *cursor = mem_str(SPAN("0"));
	char *pattern = mem_printf("%s:*", look->conf->store.prefix);
	for (int i = 0; i < SCANS_MAX; i++)
		if (!scan_piece(look, pattern, &cursor))
			break;
	free(cursor);
	free(pattern);
}

/* --- all of it --- */

/*
 * False where Redis does nothing at all now, for instance while it loads; seen
 * says why.  A missing right, or a failing disk, still leaves much to see.
 */
static bool
answers_first(struct look *look)
{
	struct diagnostics *seen = look->seen;
	const struct conf_redis *at = &look->conf->store.redis;
	char db[DIGITS_MAX + 1] = "", *message = NULL;
	digits_put(db, at->db);
	redisReply *reply = dial_accept(look->redis,
	    at->db == 0 || at->managed ? ASK(look, "PING")
				       : ASK(look, "SELECT", db), &message);
	enum redis_error error = redis_error_of(span_str(message));
	bool answers = reply != NULL || error == REDIS_ERROR_NOPERM ||
	    error == REDIS_ERROR_MISCONF;
	freeReplyObject(reply);
	if (answers || is_broken(look)) {
		free(message);
		return answers;
	}
	seen->how = error == REDIS_ERROR_NOAUTH	 ? REDIS_REFUSED
	    : span_starts(span_str(message), SPAN("ERR DB")) ? REDIS_NO_DATABASE
							     : REDIS_SILENT;
	seen->message = message;
	return false;
}

/* Connects and logs in; false: seen says why not. */
static bool
open_redis(struct look *look)
{
	struct diagnostics *seen = look->seen;
	const struct conf_redis *at = &look->conf->store.redis;
	seen->how = REDIS_SEEN;
	const struct redis_address *place = look->at ? &look->at->place : NULL;
	look->redis = place == NULL
	    ? dial_redis(look->conf, &seen->message)
	    : dial_tcp(at, place->host, place->port, &seen->message);
	if (look->redis == NULL) {
		seen->error = errno;
		seen->how = REDIS_SILENT;
		return false;
	}
	if (!dial_log_in(at, look->redis, &seen->message)) {
		seen->how = dial_is_broken(look->redis) ? REDIS_SILENT
							: REDIS_REFUSED;
		return false;
	}
	return answers_first(look);
}

static void
close_redis(struct look *look)
{
	dial_free(&look->redis);
}

static void
look_around(struct look *look)
{
	look_at_rights(look, false);
	if (!is_broken(look))
		look_at_info(look);
	if (!is_broken(look))
		look->seen->appendfsync = look_at_config(look, "appendfsync");
	if (look->at != NULL && !is_broken(look))
		look->seen->coverage = look_at_config(
		    look, "cluster-require-full-coverage");
	if (!is_broken(look))
		look_at_clock(look);
	if (!is_broken(look))
		look_at_store_id(look);
	if (!is_broken(look))
		count_records(look);
	if (!is_broken(look))
		look_at_libraries(look);
	if (!is_broken(look))
		scan(look);
}

void
diagnostics_server(const struct conf *conf,
    const struct cluster_masters *masters, const struct cluster_master *at,
    struct diagnostics *ret_seen)
{
	struct look look = {.conf = conf,
	    .masters = masters,
	    .at = at,
	    .seen = ret_seen};
	*ret_seen =
	    (struct diagnostics){.missing = mem_zero(n_rights * sizeof(bool))};
	if (conf->store.functions)
		look.library = script_library_new();
	if (open_redis(&look))
		look_around(&look);
	close_redis(&look);
	script_library_free(&look.library);
	if (is_broken(&look))
		return;
	if (open_redis(&look))
		look_at_rights(&look, true);
	close_redis(&look);
}
