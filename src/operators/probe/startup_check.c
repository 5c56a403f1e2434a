/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "operators/probe/cluster_query.h"
#include "operators/probe/dial.h"
#include "operators/probe/dial_redis.h"
#include "operators/probe/startup_check.h"
#include "store/record/script.h"
#include "store/redis/info.h"
#include "store/redis/redis_error.h"
#include "store/redis/resp.h"

/* --- asking --- */

/*
 * An error that is not about our rights will pass: Redis is loading, busy, or
 * was silent for too long.  The workers will try again.
 */
static enum startup_check_result
judge(const char *message)
{
	return redis_error_is(redis_error_of(span_str(message)), REDIS_REFUSES)
	    ? STARTUP_CHECK_REFUSED
	    : STARTUP_CHECK_UNREACHABLE;
}

/* --- judging --- */

/* Warns where a power loss, a restart or a failover would lose records. */
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
	log_event(EV_store_volatile);
}

/*
 * Whether our user may write events; tried on a stream that does not exist and
 * is not made.  Only a missing right counts: any other error will pass.
 */
static bool
may_tell(const struct conf *conf, struct dialled *redis, char **ret_message)
{
	if (conf->store.events_maxlen == 0)
		return true;
	char *name = mem_printf("%s:{0}:no-events", conf->store.prefix);
	const char *words[] = {"XADD", name, "NOMKSTREAM", "*", "id", "-"};
	redisReply *reply = dial_ask(redis, 6, words);
	free(name);
	if (redis_error_of_reply(reply) != REDIS_ERROR_NOPERM) {
		freeReplyObject(reply);
		return true;
	}
	*ret_message = mem_printf(
	    "store.events needs the right to run XADD: %s", reply->str);
	freeReplyObject(reply);
	return false;
}

/*
 * Whether our scripts can run; loads the library where they are functions.
 * NULL with a message: they cannot.
 */
static redisReply *
try_scripting(
    const struct conf *conf, struct dialled *redis, char **ret_message)
{
	const char *eval[] = {"EVAL", "return 1", "0"};
	if (!conf->store.functions)
		return dial_accept(
		    redis, dial_ask(redis, 3, eval), ret_message);
	struct function_library *library = script_library_new();
	const char *load[] = {"FUNCTION", "LOAD", library->text};
	redisReply *reply = dial_ask(redis, 3, load);
	script_library_free(&library);
	if (redis_error_of_reply(reply) == REDIS_ERROR_LIBRARY_EXISTS)
		return reply;
	return dial_accept(redis, reply, ret_message);
}

/* With Sentinels, a demoted master is no reason to give up. */
static bool
may_pass(const struct conf *conf, enum info_fault fault)
{
	return fault == FAULT_ROLE && conf_has_sentinels(conf);
}

/* The words of Redis alone name neither it nor the members. */
static void
name_login(const struct conf *conf, char **message)
{
	const struct conf_redis *redis = &conf->store.redis;
	enum redis_error error = redis_error_of(span_str(*message));
	if (error != REDIS_ERROR_WRONGPASS && error != REDIS_ERROR_NOAUTH)
		return;
	const char *place = redis->address.text;
	char *own = *message;
	size_t len = strlen(own);
	len -= len > 0 && own[len - 1] == '.';
	*message = mem_printf("Redis%s%s does not accept %sstore.password: "
	    "%.*s; onceproxy doctor says more", place ? " " : "",
	    place ? place : "", redis->user ? "store.user and " : "",
	    (int)len, own);
	free(own);
}

static enum startup_check_result
examine(const struct conf *conf, struct dialled *redis, char **ret_message)
{
	if (!dial_log_in(&conf->store.redis, redis, ret_message)) {
		enum startup_check_result found = judge(*ret_message);
		name_login(conf, ret_message);
		return found;
	}
	const char *words[] = {"INFO"};
	redisReply *reply =
	    dial_accept(redis, dial_ask(redis, 1, words), ret_message);
	if (reply != NULL) {
		struct span info = resp_text(reply);
		enum info_fault fault = info_fault(conf, info);
		/* While it loads, it says that it has no append-only file. */
		bool loads = span_eq(
		    info_value(info, SPAN("loading")), SPAN("1"));
		if (fault == FAULT_NONE && !loads)
			warn(conf, info);
		freeReplyObject(reply);
		if (fault != FAULT_NONE) {
			*ret_message =
			    mem_str(span_str(info_fault_message(fault)));
			return may_pass(conf, fault) ? STARTUP_CHECK_UNREACHABLE
						     : STARTUP_CHECK_REFUSED;
		}
	} else if (redis_error_of(span_str(*ret_message)) ==
	    REDIS_ERROR_NOPERM) {
		/* The stores will log that (store/node.h). */
		free(*ret_message);
		*ret_message = NULL;
	} else {
		/* Loading, or silent: the workers will try again. */
		return STARTUP_CHECK_UNREACHABLE;
	}
	reply = try_scripting(conf, redis, ret_message);
	if (reply == NULL)
		return judge(*ret_message);
	freeReplyObject(reply);
	return may_tell(conf, redis, ret_message) ? STARTUP_CHECK_WELL
						: STARTUP_CHECK_REFUSED;
}

static enum startup_check_result
examine_dialled(
    const struct conf *conf, struct dialled *redis, char **ret_message)
{
	if (redis == NULL)
		return STARTUP_CHECK_UNREACHABLE;
	enum startup_check_result found = examine(conf, redis, ret_message);
	dial_free(&redis);
	return found;
}

/* Puts the server's place in front of a message about it. */
static void
name_place(const struct redis_address *place, char **message)
{
	char *own = *message;
	*message = mem_printf("%s:%u: %s", place->host, place->port, own);
	free(own);
}

/* The worst result of all its masters. */
static enum startup_check_result
examine_cluster(const struct conf *conf, char **ret_message)
{
	struct cluster_masters masters;
	if (!cluster_query(conf, &masters, ret_message))
		return judge(*ret_message);
	enum startup_check_result worst = STARTUP_CHECK_WELL;
	for (size_t i = 0; i < masters.count; i++) {
		const struct redis_address *place = &masters.list[i].place;
		char *message = NULL;
		enum startup_check_result found = examine_dialled(conf,
		    dial_tcp(&conf->store.redis, place->host, place->port,
			&message),
		    &message);
		if (found > worst) {
			worst = found;
			name_place(place, &message);
			free(*ret_message);
			*ret_message = message;
			message = NULL;
		}
		free(message);
	}
	cluster_query_clear(&masters);
	return worst;
}

enum startup_check_result
startup_check(const struct conf *conf, char **ret_message)
{
	*ret_message = NULL;
	if (conf->store.redis.cluster.count > 0)
		return examine_cluster(conf, ret_message);
	return examine_dialled(
	    conf, dial_redis(conf, ret_message), ret_message);
}
