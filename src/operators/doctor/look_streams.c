/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/address.h"
#include "conf/words.h"
#include "operators/doctor/look_private.h"
#include "store/record/event.h"
#include "store/redis/info.h"
#include "store/redis/redis_error.h"

/* A group that never exists: what names it changes nothing. */
#define NOBODY "onceproxy:doctor"

/*
 * What our user needs, as an ACL has it (broker/streams/streams.h), and a
 * command that needs it and changes nothing: @stream, @dead and @results stand
 * for the keys.
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

struct look_streams {
	const struct look_broker *at;
	const struct conf *conf;
	const struct conf_source *source;
	const struct conf_redis *there;
	struct dialled *redis;
	char *message; /* why it cannot be looked at; or NULL */
};

#define ASK(look, ...) DIAL_ASK((look)->redis, __VA_ARGS__)

/* --- coming in --- */

static bool
dial_place(struct look_streams *look, const struct redis_address *place)
{
	dial_free(&look->redis);
	free(look->message);
	look->message = NULL;
	struct dialled *redis = DIAL_TCP(
	    look->conf, look->there, place->host, place->port, &look->message);
	look->redis = look_redis_enter(redis, look->there, &look->message);
	return look->redis != NULL;
}

/* By the first seed that answers, to the server that has the stream. */
static void
dial_cluster(struct look_streams *look)
{
	bool in = false;
	for (size_t i = 0; i < look->there->cluster.count && !in; i++) {
		struct redis_address seed;
		struct slots_redirect to = {0};
		address_split(
		    look->there->cluster.list[i], &seed.host, &seed.port);
		in = dial_place(look, &seed);
		const redisReply *reply =
		    in ? ASK(look, "XINFO", "STREAM", look->source->stream)
		       : NULL;
		if (reply != NULL &&
		    redis_error_of_reply(reply) == REDIS_ERROR_MOVED &&
		    slots_redirect_read(span_str(reply->str), &seed, &to)) {
			in = dial_place(look, &to.address);
			redis_address_clear(&to.address);
		}
		redis_address_clear(&seed);
	}
}

/* --- rights --- */

/* A right that the source does not need, as it has no such key, is there. */
static void
look_at_rights(struct look_streams *look)
{
	const struct dial_word keys[] = {{"@stream", look->source->stream},
	    {"@dead", look->source->dead_letters},
	    {"@results", look->source->results}};
	char *lacks = mem_text("");
	for (size_t i = 0; i < sizeof rights / sizeof *rights; i++) {
		const char *probe = rights[i].probe, *key = NULL;
		for (size_t k = 0; k < 3; k++)
			if (strstr(probe, keys[k].word) != NULL)
				key = keys[k].text;
		const redisReply *reply =
		    dial_probe(look->redis, probe, keys, 3);
		if (redis_error_of_reply(reply) != REDIS_ERROR_NOPERM)
			continue;
		/* The right to the command is looked at first. */
		bool command = strstr(reply->str, "run the") != NULL;
		if (!command && key == NULL)
			continue;
		char *rule = mem_printf("%c%s", command ? '+' : '~',
		    command ? rights[i].name : key);
		if (words_index(lacks, rule) < 0) {
			char *both = mem_printf(
			    "%s%s%s", lacks, *lacks ? " " : "", rule);
			free(lacks);
			lacks = both;
		}
		free(rule);
	}
	if (*lacks != '\0')
		look_broker_add(look->at, FINDING_source_rights,
		    mem_text(lacks),
		    mem_printf("ACL SETUSER %s %s",
			look->there->user ? look->there->user : "default",
			lacks));
	free(lacks);
}

/* --- what it is --- */

static void
look_at_info(struct look_streams *look)
{
	const redisReply *reply = ASK(look, "INFO");
	struct span info = reply != NULL ? resp_text(reply) : SPAN("");
	char *policy = mem_str(info_value(info, SPAN("maxmemory_policy")));
	if (info.len > 0 && !info_is_master(info))
		look_broker_add_once(look->at, FINDING_broker_replica, NULL);
	if (span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0")))
		look_broker_add_once(
		    look->at, FINDING_broker_persistence, NULL);
	/* A stream has no expiry, and only what has one is "volatile". */
	if (info_may_evict(info) &&
	    span_starts(span_str(policy), SPAN("allkeys")))
		look_broker_add_once(look->at, FINDING_broker_eviction,
		    mem_printf("maxmemory-policy is %s", policy));
	free(policy);
}

/* --- what is read --- */

/* How long the first entry behind that one has waited, ms. */
static int64_t
waited_behind(struct look_streams *look, const struct event_id *last)
{
	struct event_id id = {0};
	int64_t now_ms;
	char *from =
	    mem_printf("(%" PRIu64 "-%" PRIu64, last->ms, last->number);
	const redisReply *reply =
	    ASK(look, "XRANGE", look->source->stream, from, "+", "COUNT", "1");
	free(from);
	if (!dial_is(reply, REDIS_REPLY_ARRAY) || reply->elements != 1 ||
	    !dial_is(reply->element[0], REDIS_REPLY_ARRAY) ||
	    reply->element[0]->elements == 0 ||
	    !event_read_entry(resp_text(reply->element[0]->element[0]), &id))
		return 0;
	reply = ASK(look, "TIME");
	return reply != NULL && resp_read_time(reply, &now_ms) && id.ms > 0 &&
		       now_ms > (int64_t)id.ms
		   ? now_ms - (int64_t)id.ms
		   : 0;
}

static void
look_at_groups(struct look_streams *look, const struct dial_stream *stream)
{
	const struct conf_source *source = look->source;
	const redisReply *groups = ASK(look, "XINFO", "GROUPS", source->stream);
	const redisReply *group = NULL;
	struct event_id last = {0};
	int64_t lag = source->start_latest ? 0 : stream->length;
	if (!dial_is(groups, REDIS_REPLY_ARRAY))
		return;
	for (size_t i = 0; i < groups->elements && group == NULL; i++) {
		const redisReply *name =
		    resp_member(groups->element[i], SPAN("name"));
		if (name != NULL &&
		    span_eq(resp_text(name), span_str(source->group)))
			group = groups->element[i];
	}
	bool begun = group != NULL;
	if (begun) {
		const redisReply *id =
		    resp_member(group, SPAN("last-delivered-id"));
		lag = dial_number(group, "lag");
		if (id != NULL)
			(void)!event_read_entry(resp_text(id), &last);
		/* More are gone than were read, and none that is left was. */
		int64_t read = dial_number(group, "entries-read");
		int64_t gone = stream->added - stream->length;
		bool unread = stream->length == 0 ||
			      (stream->first.ms > 0 &&
				  event_compare(&stream->first, &last) > 0);
		if (read >= 0 && unread && gone > read)
			look_broker_add(look->at, FINDING_source_trimmed,
			    mem_printf("%" PRId64, gone - read), NULL);
	}
	look_broker_waits(look->at, lag,
	    begun || !source->start_latest ? waited_behind(look, &last) : 0);
}

/* What is read is there, or will be; so is what is written. */
static void
look_at_streams(struct look_streams *look)
{
	const struct conf_source *source = look->source;
	const char *const names[] = {
	    source->stream, source->dead_letters, source->results};
	for (size_t i = 0; i < 3; i++) {
		if (names[i] == NULL)
			continue;
		const redisReply *reply =
		    ASK(look, "XINFO", "STREAM", names[i]);
		if (dial_is(reply, REDIS_REPLY_ERROR) &&
		    strncmp(reply->str, "WRONGTYPE", 9) == 0) {
			look_broker_add(look->at, FINDING_source_missing,
			    mem_printf("%s is no stream", names[i]), NULL);
			return;
		}
		struct dial_stream stream;
		if (i == 0 && dial_read_stream(reply, &stream))
			look_at_groups(look, &stream);
	}
}

/* --- all of it --- */

void
look_streams(const struct look_broker *at)
{
	struct doctor *doctor = at->doctor;
	struct look_streams look = {.at = at,
	    .conf = doctor->conf,
	    .source = at->source,
	    .there = &at->broker->redis};
	if (look.there->cluster.count > 0)
		dial_cluster(&look);
	else
		look.redis = look_redis_enter(
		    servers_dial(look.conf, look.there, &look.message),
		    look.there, &look.message);
	findings_cli(doctor, look.there, NULL, 0);
	if (look.redis != NULL) {
		look_at_rights(&look);
		look_at_info(&look);
		look_at_streams(&look);
		look.message = mem_text(dial_broken(look.redis));
	}
	if (look.message != NULL)
		look_broker_unseen(at,
		    redis_error_is_login(span_str(look.message)), look.message);
	dial_free(&look.redis);
	free(look.message);
}
