/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/must.h"
#include "operators/probe/dial.h"
#include "operators/probe/dial_redis.h"
#include "operators/probe/stream_query.h"
#include "store/redis/info.h"
#include "store/redis/redis_address.h"
#include "store/redis/redis_error.h"
#include "store/redis/resp.h"

enum { WORDS_MAX = 9 /* of a probe */ };

/* A group that never exists: what names it changes nothing. */
#define NOBODY "onceproxy:doctor"

/*
 * What our user needs, as an ACL has it (broker/streams.h), and a command that
 * needs it and changes nothing: @stream, @dead and @results stand for the keys.
 */
static const struct {
	const char *name;
	const char *probe;
} rights[] = {
	{"eval", "EVAL return{} 0"},
	{"evalsha", "EVALSHA 0000000000000000000000000000000000000000 0"},
	{"time", "TIME"},
	{"xack", "XACK @stream " NOBODY " 0-1"},
	{"xadd", "XADD @dead NOMKSTREAM 0-0 - -"},
	{"xadd", "XADD @results NOMKSTREAM 0-0 - -"},
	{"xclaim", "XCLAIM @stream " NOBODY " - 0 0-1"},
	{"xgroup|create", "XGROUP CREATE @stream " NOBODY " -"},
	{"xgroup|setid", "XGROUP SETID @stream " NOBODY " -"},
	{"xinfo|consumers", "XINFO CONSUMERS @stream " NOBODY},
	{"xinfo|groups", "XINFO GROUPS @stream"},
	{"xinfo|stream", "XINFO STREAM @stream"},
	{"xpending", "XPENDING @stream " NOBODY},
	{"xrange", "XRANGE @stream 0-1 0-1"},
	{"xread", "XREAD STREAMS @stream 18446744073709551615-0"},
	{"xreadgroup", "XREADGROUP GROUP " NOBODY " - STREAMS @stream >"},
	{"xrevrange", "XREVRANGE @dead 0-1 0-1"},
};
enum { RIGHTS = sizeof rights / sizeof *rights };

struct stream_look {
	const struct conf_source *source;
	const struct conf_redis *at;
	struct dialled *redis;
	struct source_seen *seen;
};

/* --- asking --- */

/* Any reply, errors included; NULL: the connection broke. */
static redisReply *
send_words(struct stream_look *look, size_t count, const char **words)
{
	redisReply *reply = dial_ask(look->redis, count, words);
	if (reply == NULL && look->seen->how == BROKER_SEEN) {
		look->seen->how = BROKER_SILENT;
		look->seen->message =
		    mem_str(span_str(dial_message(look->redis)));
	}
	return reply;
}

#define ASK(look, ...)                                               \
	send_words((look), sizeof((const char *[]){__VA_ARGS__}) /    \
	    sizeof(const char *), (const char *[]){__VA_ARGS__})

static bool
is_list(const redisReply *reply)
{
	return reply != NULL && reply->type == REDIS_REPLY_ARRAY;
}

/* Empty where there is none. */
static struct span
text_in(const redisReply *reply)
{
	return reply != NULL ? resp_text(reply) : SPAN("");
}

/* The value behind a name, in a list of names and values; or NULL. */
static const redisReply *
member_of(const redisReply *list, const char *name)
{
	for (size_t i = 0; is_list(list) && i + 1 < list->elements; i += 2)
		if (span_eq(text_in(list->element[i]), span_str(name)))
			return list->element[i + 1];
	return NULL;
}

/* -1: it is none. */
static int64_t
number_of(const redisReply *reply)
{
	bool is = reply != NULL && reply->type == REDIS_REPLY_INTEGER &&
	    reply->integer >= 0;
	return is ? reply->integer : -1;
}

/* An entry's id: when it was made, and its number of that moment. */
struct entry_id {
	uint64_t ms;
	uint64_t number;
};

static bool
read_id(const redisReply *reply, struct entry_id *ret_id)
{
	if (reply == NULL || reply->type != REDIS_REPLY_STRING)
		return false;
	return sscanf(reply->str, "%" SCNu64 "-%" SCNu64, &ret_id->ms,
		   &ret_id->number) == 2;
}

static bool
is_behind(struct entry_id a, struct entry_id b)
{
	return a.ms > b.ms || (a.ms == b.ms && a.number > b.number);
}

/* --- coming in --- */

static void
note_refusal(struct stream_look *look, char *message, bool silent)
{
	look->seen->how = silent ? BROKER_SILENT : BROKER_REFUSED;
	look->seen->message = message;
}

/* Logs in and finds out whether it answers; false: seen says why not. */
static bool
come_in(struct stream_look *look)
{
	char *message = NULL;
	char db[24];
	if (!dial_log_in(look->at, look->redis, &message)) {
		note_refusal(look, message, dial_is_broken(look->redis));
		return false;
	}
	snprintf(db, sizeof db, "%" PRId64, look->at->db);
	redisReply *reply = look->at->db == 0 ? ASK(look, "PING")
					      : ASK(look, "SELECT", db);
	enum redis_error error = redis_error_of_reply(reply);
	bool in = reply != NULL && (reply->type != REDIS_REPLY_ERROR ||
	    error == REDIS_ERROR_NOPERM || error == REDIS_ERROR_MISCONF);
	if (reply != NULL && !in)
		note_refusal(look, mem_str(span_str(reply->str)),
		    error != REDIS_ERROR_NOAUTH);
	freeReplyObject(reply);
	return in;
}

/* Where the stream is, by a server of its cluster; false: it is there. */
static bool
is_elsewhere(struct stream_look *look, const char *seed,
    struct redis_address *ret_place)
{
	redisReply *reply = ASK(look, "XINFO", "STREAM", look->source->stream);
	bool moved = redis_error_of_reply(reply) == REDIS_ERROR_MOVED;
	struct span rest = moved ? span_str(reply->str) : SPAN("");
	struct span word = SPAN(""), host;
	uint16_t port;
	for (int i = 0; i < 3 && moved; i++)
		moved = span_next(&rest, ' ', &word);
	/* It leaves its own name out. */
	if (moved && word.len > 0 && *word.ptr == ':' &&
	    redis_address_split(span_str(seed), &host, &port)) {
		char *all = mem_printf("%.*s%.*s", SPAN_FMT(host),
		    SPAN_FMT(word));
		moved = redis_address_read(span_str(all), ret_place);
		free(all);
	} else if (moved) {
		moved = redis_address_read(word, ret_place);
	}
	freeReplyObject(reply);
	return moved;
}

static void
hang_up(struct stream_look *look)
{
	if (look->redis != NULL)
		dial_free(&look->redis);
	look->redis = NULL;
}

static bool
dial_place(struct stream_look *look, const struct redis_address *place)
{
	hang_up(look);
	free(look->seen->message);
	look->seen->message = NULL;
	look->seen->how = BROKER_SEEN;
	look->redis = dial_tcp(
	    look->at, place->host, place->port, &look->seen->message);
	if (look->redis == NULL)
		look->seen->how = BROKER_SILENT;
	return look->redis != NULL && come_in(look);
}

/* By the first seed that answers. */
static bool
dial_cluster(struct stream_look *look)
{
	bool in = false;
	for (size_t i = 0; i < look->at->cluster.count && !in; i++) {
		const char *seed = look->at->cluster.list[i];
		struct redis_address place;
		if (!redis_address_read(span_str(seed), &place))
			continue;
		in = dial_place(look, &place);
		redis_address_clear(&place);
		if (in && is_elsewhere(look, seed, &place)) {
			in = dial_place(look, &place);
			redis_address_clear(&place);
		}
	}
	return in;
}

static bool
dial(struct stream_look *look)
{
	if (look->at->cluster.count > 0)
		return dial_cluster(look);
	look->redis = dial_redis_at(look->at, &look->seen->message);
	if (look->redis == NULL)
		look->seen->how = BROKER_SILENT;
	return look->redis != NULL && come_in(look);
}

/* --- rights --- */

static const char *
key_of(const struct stream_look *look, struct span word)
{
	if (span_eq(word, SPAN("@stream")))
		return look->source->stream;
	return span_eq(word, SPAN("@dead")) ? look->source->dead_letters
					    : look->source->results;
}

/* The key of a probe; NULL: it has none, or the source has no such place. */
static const char *
key_of_probe(const struct stream_look *look, const char *probe, bool *ret_asked)
{
	struct span rest = span_str(probe), word;
	*ret_asked = true;
	while (span_next(&rest, ' ', &word))
		if (*word.ptr == '@') {
			const char *key = key_of(look, word);
			*ret_asked = key != NULL;
			return key;
		}
	return NULL;
}

static redisReply *
send_probe(struct stream_look *look, const char *probe)
{
	char *made[WORDS_MAX];
	const char *words[WORDS_MAX];
	size_t count = 0;
	struct span rest = span_str(probe), word;
	while (span_next(&rest, ' ', &word)) {
		must(count < WORDS_MAX);
		made[count] = *word.ptr == '@'
		    ? mem_str(span_str(key_of(look, word)))
		    : mem_str(word);
		words[count] = made[count];
		count++;
	}
	redisReply *reply = send_words(look, count, words);
	while (count > 0)
		free(made[--count]);
	return reply;
}

static bool
has_word(const char *text, const char *word)
{
	struct span rest = span_str(text), piece;
	while (span_next(&rest, ' ', &piece))
		if (span_eq(piece, span_str(word)))
			return true;
	return false;
}

/* One more rule that is missing, once. */
static void
note_rule(struct stream_look *look, char sign, const char *name)
{
	char *rule = mem_printf("%c%s", sign, name);
	char *before = look->seen->rights;
	if (before == NULL) {
		look->seen->rights = rule;
		return;
	}
	if (!has_word(before, rule)) {
		look->seen->rights = mem_printf("%s %s", before, rule);
		free(before);
	}
	free(rule);
}

static void
look_at_rule(struct stream_look *look, size_t i)
{
	bool asked;
	const char *key = key_of_probe(look, rights[i].probe, &asked);
	if (!asked)
		return;
	redisReply *reply = send_probe(look, rights[i].probe);
	bool refused = redis_error_of_reply(reply) == REDIS_ERROR_NOPERM;
	/* The right to the command is looked at first, then that to the key. */
	if (refused && strstr(reply->str, "run the") != NULL)
		note_rule(look, '+', rights[i].name);
	else if (refused && key != NULL)
		note_rule(look, '~', key);
	freeReplyObject(reply);
}

static void
look_at_rules(struct stream_look *look)
{
	for (size_t i = 0; i < RIGHTS && look->seen->how == BROKER_SEEN; i++)
		look_at_rule(look, i);
	if (look->seen->rights != NULL)
		look->seen->grant = mem_printf("ACL SETUSER %s %s",
		    look->at->user ? look->at->user : "default",
		    look->seen->rights);
}

/* --- what it is --- */

static void
look_at_info(struct stream_look *look)
{
	redisReply *reply = ASK(look, "INFO");
	struct span info = text_in(reply);
	struct span policy = info_value(info, SPAN("maxmemory_policy"));
	if (info.len > 0) {
		look->seen->replica = !info_is_master(info);
		look->seen->forgets =
		    span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0"));
	}
	/* A stream has no expiry, and only what has one is "volatile". */
	if (info_may_evict(info) && policy.len >= 7 &&
	    memcmp(policy.ptr, "allkeys", 7) == 0)
		look->seen->policy = mem_str(policy);
	freeReplyObject(reply);
}

/* --- what is read --- */

static const redisReply *
find_group(const struct stream_look *look, const redisReply *groups)
{
	for (size_t i = 0; is_list(groups) && i < groups->elements; i++)
		if (span_eq(text_in(member_of(groups->element[i], "name")),
			span_str(look->source->group)))
			return groups->element[i];
	return NULL;
}

/* How long the first entry behind that one has waited. */
static void
look_at_waiting(struct stream_look *look, const char *last)
{
	struct entry_id id;
	int64_t now_ms;
	char *from = mem_printf("(%s", last);
	redisReply *entries = ASK(look, "XRANGE", look->source->stream, from,
	    "+", "COUNT", "1");
	redisReply *time =
	    look->seen->how == BROKER_SEEN ? ASK(look, "TIME") : NULL;
	if (is_list(entries) && entries->elements == 1 &&
	    is_list(entries->element[0]) &&
	    entries->element[0]->elements > 0 &&
	    read_id(entries->element[0]->element[0], &id) &&
	    time != NULL && resp_read_time(time, &now_ms) &&
	    (int64_t)id.ms > 0 &&
	    now_ms > (int64_t)id.ms)
		look->seen->waits_ms = now_ms - (int64_t)id.ms;
	freeReplyObject(entries);
	freeReplyObject(time);
	free(from);
}

/* More are gone than were read, and what is left was not read. */
static void
look_at_trimming(
    struct stream_look *look, const redisReply *stream, const redisReply *group)
{
	int64_t added = number_of(member_of(stream, "entries-added"));
	int64_t length = number_of(member_of(stream, "length"));
	int64_t read = number_of(member_of(group, "entries-read"));
	struct entry_id first, last;
	const redisReply *entry = member_of(stream, "first-entry");
	bool rest_is_unread = length == 0 ||
	    (is_list(entry) && entry->elements > 0 &&
		read_id(entry->element[0], &first) &&
		read_id(member_of(group, "last-delivered-id"), &last) &&
		is_behind(first, last));
	if (added >= 0 && read >= 0 && rest_is_unread && added - length > read)
		look->seen->trimmed = (uint64_t)(added - length - read);
}

static void
look_at_group(
    struct stream_look *look, const redisReply *stream,
    const redisReply *groups)
{
	const redisReply *group = find_group(look, groups);
	if (group == NULL) {
		look->seen->lag = look->source->start_latest
		    ? 0
		    : number_of(member_of(stream, "length"));
		if (!look->source->start_latest)
			look_at_waiting(look, "0-0");
		return;
	}
	look->seen->lag = number_of(member_of(group, "lag"));
	look_at_trimming(look, stream, group);
	char *last = mem_str(text_in(member_of(group, "last-delivered-id")));
	look_at_waiting(look, last);
	free(last);
}

static bool
is_no_stream(const redisReply *reply)
{
	return reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    strncmp(reply->str, "WRONGTYPE", 9) == 0;
}

/* Where something is put; a stream that is not there is made then. */
static void
look_at_place(struct stream_look *look, const char *name)
{
	if (name == NULL || look->seen->missing != NULL)
		return;
	redisReply *stream = ASK(look, "XINFO", "STREAM", name);
	if (is_no_stream(stream))
		look->seen->missing = mem_printf("%s is no stream", name);
	freeReplyObject(stream);
}

static void
look_at_stream(struct stream_look *look)
{
	redisReply *stream =
	    ASK(look, "XINFO", "STREAM", look->source->stream);
	redisReply *groups = NULL;
	if (is_list(stream))
		groups = ASK(look, "XINFO", "GROUPS", look->source->stream);
	else if (is_no_stream(stream))
		look->seen->missing = mem_printf(
		    "%s is no stream", look->source->stream);
	if (is_list(groups))
		look_at_group(look, stream, groups);
	freeReplyObject(stream);
	freeReplyObject(groups);
}

void
stream_query(const struct conf_source *source, struct source_seen *seen)
{
	struct stream_look look = {.source = source,
	    .at = &source->broker->redis,
	    .seen = seen};
	if (dial(&look)) {
		look_at_rules(&look);
		if (seen->how == BROKER_SEEN)
			look_at_info(&look);
		if (seen->how == BROKER_SEEN)
			look_at_stream(&look);
		if (seen->how == BROKER_SEEN)
			look_at_place(&look, source->dead_letters);
		if (seen->how == BROKER_SEEN)
			look_at_place(&look, source->results);
	}
	hang_up(&look);
}
