/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "probe/cluster_query.h"
#include "probe/dial.h"
#include "probe/startup_check.h"
#include "record/library.h"
#include "redis/info.h"

/* --- asking --- */

/*
 * What is no word about our rights will pass: Redis is loading, busy, or was
 * silent for too long.  The workers ask again.
 */
static enum examined
judge(const char *words)
{
	static const char *const final[] = {
	    "ERR ", "NOPERM ", "NOAUTH ", "WRONGPASS "};
	for (size_t i = 0; i < sizeof final / sizeof *final; i++)
		if (strncmp(words, final[i], strlen(final[i])) == 0)
			return EXAMINED_REFUSED;
	return EXAMINED_UNREACHABLE;
}

/* --- judging --- */

/* Worth a warning: what power loss, a restart or a failover would lose. */
static void
warn(const struct conf *conf, struct span info)
{
	if (info_replicas(info) < conf->store.wait_replicas) {
		struct logline line = log_begin(EV_replicas_few);
		log_int(&line, "replicas", info_replicas(info));
		log_int(&line, "wait_replicas", conf->store.wait_replicas);
		log_end(&line);
	}
	if (!span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0")))
		return;
	struct logline line = log_begin(EV_store_volatile);
	log_end(&line);
}

/*
 * Whether events may be written: to a stream that is not there and is not
 * made.  Only a missing right counts; what else Redis may say now passes.
 */
static bool
may_tell(const struct conf *conf, redisContext *redis, char **ret_words)
{
	if (conf->store.events_maxlen == 0)
		return true;
	char *name = mem_printf("%s:{0}:no-events", conf->store.prefix);
	redisReply *reply =
	    redisCommand(redis, "XADD %s NOMKSTREAM * id -", name);
	free(name);
	if (reply == NULL || reply->type != REDIS_REPLY_ERROR ||
	    strncmp(reply->str, "NOPERM ", 7) != 0) {
		freeReplyObject(reply);
		return true;
	}
	*ret_words = mem_printf(
	    "store.events needs the right to XADD: %s", reply->str);
	freeReplyObject(reply);
	return false;
}

/* That our scripts can be run; functions are given to it: NULL, and why. */
static redisReply *
try_scripting(const struct conf *conf, redisContext *redis, char **ret_words)
{
	if (!conf->store.functions)
		return dial_accept(redis,
		    redisCommand(redis, "EVAL %s 0", "return 1"), ret_words);
	struct library *library = library_new();
	redisReply *reply =
	    redisCommand(redis, "FUNCTION LOAD %s", library->text);
	library_free(&library);
	if (reply != NULL && reply->type == REDIS_REPLY_ERROR &&
	    library_is_there(span_of(reply->str, reply->len)))
		return reply;
	return dial_accept(redis, reply, ret_words);
}

/* Where Sentinels move the master, one that was demoted is left. */
static bool
may_pass(const struct conf *conf, enum store_fault fault)
{
	return fault == FAULT_ROLE && conf_has_sentinels(conf);
}

static enum examined
examine(const struct conf *conf, redisContext *redis, char **ret_words)
{
	if (!dial_log_in(conf, redis, ret_words))
		return judge(*ret_words);
	redisReply *reply =
	    dial_accept(redis, redisCommand(redis, "INFO"), ret_words);
	if (reply != NULL) {
		struct span info = span_of(reply->str, reply->len);
		enum store_fault fault = info_fault(conf, info);
		/* While it loads, it says that it keeps no such file. */
		bool loads = span_eq(
		    info_value(info, SPAN("loading")), SPAN("1"));
		if (fault == FAULT_NONE && !loads)
			warn(conf, info);
		freeReplyObject(reply);
		if (fault != FAULT_NONE) {
			*ret_words = mem_str(span_str(fault_words(fault)));
			return may_pass(conf, fault) ? EXAMINED_UNREACHABLE
						     : EXAMINED_REFUSED;
		}
	} else if (strncmp(*ret_words, "NOPERM ", 7) == 0) {
		/* The stores say so (health.c). */
		free(*ret_words);
		*ret_words = NULL;
	} else {
		/* Loading, or silent: it is asked again by the workers. */
		return EXAMINED_UNREACHABLE;
	}
	reply = try_scripting(conf, redis, ret_words);
	if (reply == NULL)
		return judge(*ret_words);
	freeReplyObject(reply);
	return may_tell(conf, redis, ret_words) ? EXAMINED_WELL
						: EXAMINED_REFUSED;
}

static enum examined
examine_dialled(
    const struct conf *conf, redisContext *redis, char **ret_words)
{
	if (redis == NULL)
		return EXAMINED_UNREACHABLE;
	enum examined found = examine(conf, redis, ret_words);
	redisFree(redis);
	return found;
}

/* Which of them it is about. */
static void
name_place(const struct place *place, char **words)
{
	char *own = *words;
	*words = mem_printf("%s:%u: %s", place->host, place->port, own);
	free(own);
}

/* The first that must not be served with, else one out of reach. */
static enum examined
examine_cluster(const struct conf *conf, char **ret_words)
{
	struct cluster_seen masters;
	if (!cluster_look(conf, &masters, ret_words))
		return judge(*ret_words);
	enum examined worst = EXAMINED_WELL;
	for (size_t i = 0; i < masters.count; i++) {
		const struct place *place = &masters.list[i].place;
		char *words = NULL;
		enum examined found = examine_dialled(conf,
		    dial_tcp(conf, place->host, place->port, &words), &words);
		if (found > worst) {
			worst = found;
			name_place(place, &words);
			free(*ret_words);
			*ret_words = words;
			words = NULL;
		}
		free(words);
	}
	cluster_seen_clear(&masters);
	return worst;
}

enum examined
store_examine(const struct conf *conf, char **ret_words)
{
	*ret_words = NULL;
	if (conf->store.cluster.count > 0)
		return examine_cluster(conf, ret_words);
	return examine_dialled(
	    conf, dial_redis(conf, ret_words), ret_words);
}
