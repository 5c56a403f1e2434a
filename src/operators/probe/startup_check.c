/* SPDX-License-Identifier: BSD-2-Clause */
#include <hiredis/hiredis.h>
#include <stdlib.h>

#include "base/loop/log.h"
#include "base/mem.h"
#include "operators/probe/servers.h"
#include "operators/probe/startup_check.h"
#include "store/record/script.h"
#include "store/redis/info.h"
#include "store/redis/redis_error.h"

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

/*
 * What it says of itself.  Where our user may not ask, the stores will log that
 * (store/node.h); with Sentinels, a demoted master is no reason to give up; and
 * while it loads, it says that it has no append-only file.
 */
static enum startup_check_result
examine_info(const struct conf *conf, struct dialled *redis, char **ret_message)
{
	const redisReply *reply = DIAL_ASK(redis, "INFO");
	if (redis_error_of_reply(reply) == REDIS_ERROR_NOPERM)
		return STARTUP_CHECK_WELL;
	reply = dial_accept(redis, reply, ret_message);
	if (reply == NULL)
		return STARTUP_CHECK_UNREACHABLE;
	struct span info = resp_text(reply);
	enum info_fault fault = info_fault(conf, info);
	if (fault == FAULT_NONE) {
		bool loads =
		    span_eq(info_value(info, SPAN("loading")), SPAN("1"));
		/* What a failover, a power loss or a restart would lose. */
		if (!loads && info_replicas(info) < conf->store.wait_replicas) {
			struct logline line = log_begin(EV_replicas_few);
			log_int(&line, "replicas", info_replicas(info));
			log_int(&line, "wait_replicas",
			    conf->store.wait_replicas);
			log_end(&line);
		}
		if (!loads &&
		    span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0")))
			log_event(EV_store_volatile);
		return STARTUP_CHECK_WELL;
	}
	*ret_message = mem_text(info_fault_messages[fault]);
	return fault == FAULT_ROLE && conf->store.redis.sentinels.count > 0
		   ? STARTUP_CHECK_UNREACHABLE
		   : STARTUP_CHECK_REFUSED;
}

/* Whether our scripts can run; loads the library where they are functions. */
static enum startup_check_result
try_scripting(
    const struct conf *conf, struct dialled *redis, char **ret_message)
{
	const redisReply *reply;
	if (conf->store.functions) {
		struct function_library *library = script_library_new();
		reply = DIAL_ASK(redis, "FUNCTION", "LOAD", library->text);
		script_library_free(&library);
	} else {
		reply = DIAL_ASK(redis, "EVAL", "return 1", "0");
	}
	if (redis_error_of_reply(reply) == REDIS_ERROR_LIBRARY_EXISTS ||
	    dial_accept(redis, reply, ret_message) != NULL)
		return STARTUP_CHECK_WELL;
	return judge(*ret_message);
}

/*
 * Whether our user may write events; tried on a stream that does not exist and
 * is not made.  Only a missing right counts: any other error will pass.
 */
static enum startup_check_result
try_events(const struct conf *conf, struct dialled *redis, char **ret_message)
{
	if (conf->store.events_maxlen == 0)
		return STARTUP_CHECK_WELL;
	char *name = mem_printf("%s:{0}:no-events", conf->store.prefix);
	const redisReply *reply =
	    DIAL_ASK(redis, "XADD", name, "NOMKSTREAM", "*", "id", "-");
	free(name);
	if (redis_error_of_reply(reply) != REDIS_ERROR_NOPERM)
		return STARTUP_CHECK_WELL;
	*ret_message = mem_printf(
	    "store.events needs the right to run XADD: %s", reply->str);
	return STARTUP_CHECK_REFUSED;
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
			      "%.*s; onceproxy doctor says more",
	    place ? " " : "", place ? place : "",
	    redis->user ? "store.user and " : "", (int)len, own);
	free(own);
}

/* Takes the connection; NULL: there is none, and the message says why. */
static enum startup_check_result
examine(const struct conf *conf, struct dialled *redis, char **ret_message)
{
	if (redis == NULL) {
		if (!redis_error_is_login(span_str(*ret_message)))
			return STARTUP_CHECK_UNREACHABLE;
		name_login(conf, ret_message);
		return STARTUP_CHECK_REFUSED;
	}
	enum startup_check_result found =
	    examine_info(conf, redis, ret_message);
	if (found == STARTUP_CHECK_WELL)
		found = try_scripting(conf, redis, ret_message);
	if (found == STARTUP_CHECK_WELL)
		found = try_events(conf, redis, ret_message);
	dial_free(&redis);
	return found;
}

enum startup_check_result
startup_check(const struct conf *conf, char **ret_message)
{
	const struct conf_redis *at = &conf->store.redis;
	struct cluster_masters masters;
	*ret_message = NULL;
	if (at->cluster.count == 0)
		return examine(
		    conf, servers_dial(conf, at, ret_message), ret_message);
	if (!servers_cluster(conf, &masters, ret_message))
		return judge(*ret_message);
	/* The worst result of all its masters, with the server's place. */
	enum startup_check_result worst = STARTUP_CHECK_WELL;
	for (size_t i = 0; i < masters.count; i++) {
		const struct redis_address *place = &masters.list[i].place;
		char *message = NULL;
		struct dialled *redis = DIAL_TCP(
		    conf, at, place->host, place->port, &message);
		enum startup_check_result found =
		    examine(conf, redis, &message);
		if (found > worst) {
			worst = found;
			free(*ret_message);
			*ret_message = mem_printf(
			    "%s:%u: %s", place->host, place->port, message);
		}
		free(message);
	}
	servers_free_cluster(&masters);
	return worst;
}
