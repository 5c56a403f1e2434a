/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/doctor_redis_private.h"
#include "operators/doctor/doctor_sentinel_private.h"
#include "operators/doctor/redis_cli_private.h"
#include "operators/probe/rights.h"
#include "store/redis/info.h"
#include "store/redis/tls_session.h"

enum { APART_MS = 1000 };

/* Where the file says where Redis is. */
static const char *
redis_pointer(const struct doctor *doctor)
{
	if (doctor->conf->store.redis.cluster.count > 0)
		return "/store/cluster";
	return conf_has_sentinels(doctor->conf) ? "/store/sentinels"
						: "/store/redis";
}

/* --- what can be judged --- */

/* False after saying so: nothing was seen of Redis. */
static bool
redis_is_seen(struct doctor *doctor, enum finding_name name)
{
	if (doctor->redis.how == REDIS_SEEN)
		return true;
	findings_add_skipped(doctor, name, "Redis could not be examined");
	return false;
}

/* What Redis says of itself; false after saying that it does not. */
static bool
has_info(struct doctor *doctor, enum finding_name name, struct span *ret_info)
{
	if (!redis_is_seen(doctor, name))
		return false;
	if (doctor->redis.info != NULL) {
		*ret_info = span_str(doctor->redis.info);
		return true;
	}
	findings_add_skipped(
	    doctor, name, "this Redis user may not run INFO");
	return false;
}

static char *
span_text(struct span info, struct span name)
{
	return mem_str(info_value(info, name));
}

/* --- coming in --- */

/* The managed Redis, which ends with its gateway, as it should. */
static bool
is_stopped(const struct doctor *doctor)
{
	int error = doctor->redis.error;
	return doctor->conf->store.redis.managed &&
	    (error == ECONNREFUSED || error == ENOENT);
}

void
doctor_redis_stopped(struct doctor *doctor)
{
	if (!doctor->conf->store.redis.managed)
		findings_add_well(doctor, FINDING_redis_stopped,
		    mem_str(SPAN("store.redis is not \"managed\"")));
	else if (is_stopped(doctor))
		findings_add(doctor, FINDING_redis_stopped,
		    redis_pointer(doctor),
		    mem_str(span_str(doctor->redis.message)),
		    shell_quote(doctor->conf->file));
	else
		(void)redis_is_seen(doctor, FINDING_redis_stopped);
}

static bool
lacks_certificate(const struct doctor *doctor)
{
	return doctor->redis.how == REDIS_SILENT &&
	    tls_session_lacks_certificate(doctor->redis.message);
}

void
doctor_redis_certificate(struct doctor *doctor)
{
	if (lacks_certificate(doctor))
		findings_add(doctor, FINDING_redis_certificate,
		    redis_pointer(doctor), NULL, NULL);
	else if (doctor->redis.how == REDIS_SILENT)
		(void)redis_is_seen(doctor, FINDING_redis_certificate);
}

void
doctor_redis_unreachable(struct doctor *doctor)
{
	if (doctor->redis.how != REDIS_SILENT || lacks_certificate(doctor))
		return;
	if (is_stopped(doctor))
		findings_add_skipped(doctor, FINDING_redis_unreachable,
		    "the managed Redis is not running");
	else
		findings_add(doctor, FINDING_redis_unreachable,
		    redis_pointer(doctor),
		    mem_str(span_str(doctor->redis.message)),
		    redis_cli_silent(doctor->conf, doctor->redis.message));
}

char *
doctor_redis_acl(const struct conf *conf)
{
	const char *user = conf->store.redis.user;
	char *rules = rights_rules(conf);
	char *line = mem_printf("ACL SETUSER %s on >PASSWORD resetkeys "
				"resetchannels -@all %s",
	    user ? user : "onceproxy", rules);
	free(rules);
	return line;
}

void
doctor_redis_login(struct doctor *doctor)
{
	if (doctor->redis.how == REDIS_REFUSED)
		findings_add(doctor, FINDING_redis_login,
		    doctor->conf->store.redis.user ? "/store/user"
						   : redis_pointer(doctor),
		    mem_str(span_str(doctor->redis.message)),
		    redis_cli_refused(doctor_redis_acl(doctor->conf),
			doctor->redis.message));
	else
		(void)redis_is_seen(doctor, FINDING_redis_login);
}

/* --- rights --- */

static bool
is_lacking(const struct diagnostics *redis)
{
	bool lacks =
	    redis->keys == PERMIT_NO || redis->channels == PERMIT_NO;
	for (size_t i = 0; i < n_rights; i++)
		lacks = lacks || redis->missing[i];
	return lacks;
}

static char *
missing_rights(const struct doctor *doctor)
{
	const struct diagnostics *redis = &doctor->redis;
	const char *comma = "";
	char *message = NULL;
	size_t len;
	FILE *out = open_memstream(&message, &len);
	must(out != NULL);
	for (size_t i = 0; i < n_rights; i++) {
		if (!redis->missing[i])
			continue;
		fprintf(out, "%s+%s (%s)", comma, rights[i].name,
		    rights[i].message);
		comma = ", ";
	}
	char *keys = rights_keys(doctor->conf);
	char *channels = rights_channels(doctor->conf);
	if (redis->keys == PERMIT_NO) {
		fprintf(out, "%s%s (our keys)", comma, keys);
		comma = ", ";
	}
	if (redis->channels == PERMIT_NO)
		fprintf(out, "%s%s (our channels)", comma, channels);
	free(keys);
	free(channels);
	must(fclose(out) == 0);
	return message;
}

/*
 * A pattern is added only where it is needed: Redis refuses one beside "all".
 * A user without any of the commands that take one has no use for it.
 */
static void
print_pattern(FILE *out, enum permitted is, const char *reset, char *pattern)
{
	if (is != PERMIT_YES)
		fprintf(out, " %s%s", is == PERMIT_UNKNOWN ? reset : "",
		    pattern);
	free(pattern);
}

static char *
rights_cure(const struct doctor *doctor)
{
	const struct diagnostics *redis = &doctor->redis;
	const struct conf *conf = doctor->conf;
	const char *user = conf->store.redis.user;
	char *line = NULL;
	size_t len;
	FILE *out = open_memstream(&line, &len);
	must(out != NULL);
	fprintf(out, "ACL SETUSER %s", user ? user : "default");
	print_pattern(out, redis->keys, "resetkeys ", rights_keys(conf));
	print_pattern(out, redis->channels, "resetchannels ",
	    rights_channels(conf));
	for (size_t i = 0; i < n_rights; i++)
		if (redis->missing[i])
			fprintf(out, " +%s", rights[i].name);
	must(fclose(out) == 0);
	return line;
}

void
doctor_redis_rights(struct doctor *doctor)
{
	if (redis_is_seen(doctor, FINDING_rights) && is_lacking(&doctor->redis))
		findings_add(doctor, FINDING_rights,
		    doctor->conf->store.redis.user ? "/store/user"
					     : redis_pointer(doctor),
		    missing_rights(doctor), rights_cure(doctor));
}

/* --- what it is --- */

void
doctor_redis_old(struct doctor *doctor)
{
	struct span info;
	if (!has_info(doctor, FINDING_redis_old, &info))
		return;
	char *version = span_text(info, SPAN("redis_version"));
	if (info_is_old(info)) {
		findings_add(doctor, FINDING_redis_old, redis_pointer(doctor),
		    version, NULL);
		return;
	}
	findings_add_well(doctor, FINDING_redis_old,
	    mem_printf("this is Redis %s", version));
	free(version);
}

void
doctor_redis_replica(struct doctor *doctor)
{
	struct span info;
	if (!has_info(doctor, FINDING_redis_replica, &info) ||
	    info_is_master(info))
		return;
	char *host = span_text(info, SPAN("master_host"));
	char *port = span_text(info, SPAN("master_port"));
	findings_add(doctor, FINDING_redis_replica, redis_pointer(doctor),
	    mem_printf("%s:%s", host, port), NULL);
	free(host);
	free(port);
}

void
doctor_redis_writes(struct doctor *doctor)
{
	struct span info;
	if (doctor->redis.refused == NULL)
		(void)redis_is_seen(doctor, FINDING_writes);
	else if (has_info(doctor, FINDING_writes, &info) &&
	    info_is_master(info))
		findings_add(doctor, FINDING_writes, redis_pointer(doctor),
		    mem_str(span_str(doctor->redis.refused)), NULL);
}

/* --- what it may forget --- */

static void
judge_eviction(
    struct doctor *doctor, enum finding_name name, bool allowed)
{
	struct span info;
	if (!has_info(doctor, name, &info) || !info_may_evict(info) ||
	    doctor->conf->store.allow_eviction != allowed)
		return;
	char *policy = span_text(info, SPAN("maxmemory_policy"));
	findings_add(doctor, name,
	    allowed ? "/store/allow_eviction" : redis_pointer(doctor),
	    mem_printf("maxmemory-policy is %s", policy), NULL);
	free(policy);
}

void
doctor_redis_eviction(struct doctor *doctor)
{
	judge_eviction(doctor, FINDING_eviction, false);
}

void
doctor_redis_eviction_allowed(struct doctor *doctor)
{
	judge_eviction(doctor, FINDING_eviction_allowed, true);
}

static bool
keeps_file(struct span info)
{
	return !span_eq(info_value(info, SPAN("aof_enabled")), SPAN("0"));
}

void
doctor_redis_persistence(struct doctor *doctor)
{
	struct span info;
	if (!has_info(doctor, FINDING_persistence, &info) || keeps_file(info))
		return;
	findings_add(
	    doctor, FINDING_persistence, redis_pointer(doctor), NULL, NULL);
}

void
doctor_redis_appendfsync(struct doctor *doctor)
{
	struct span info;
	const char *is = doctor->redis.appendfsync;
	if (!has_info(doctor, FINDING_appendfsync, &info))
		return;
	if (!keeps_file(info))
		findings_add_skipped(doctor, FINDING_appendfsync,
		    "there is no append-only file");
	else if (is == NULL)
		findings_add_skipped(doctor, FINDING_appendfsync,
		    "this Redis user may not run CONFIG GET appendfsync");
	else if (strcmp(is, "always") != 0)
		findings_add(doctor, FINDING_appendfsync, redis_pointer(doctor),
		    mem_str(span_str(is)), NULL);
}

/* --- replicas --- */

void
doctor_redis_replicas_few(struct doctor *doctor)
{
	struct span info;
	if (!has_info(doctor, FINDING_replicas_few, &info))
		return;
	int64_t wanted = doctor->conf->store.wait_replicas;
	int online = info_replicas(info);
	if (online < wanted)
		findings_add(doctor, FINDING_replicas_few,
		    "/store/wait_replicas",
		    mem_printf("%d of %" PRId64, online, wanted), NULL);
}

void
doctor_redis_no_replica(struct doctor *doctor)
{
	struct span info;
	if (doctor->conf->store.redis.managed)
		findings_add_well(doctor, FINDING_no_replica,
		    mem_str(SPAN("a managed Redis has no replicas")));
	else if (doctor->redis.place == NULL &&
	    has_info(doctor, FINDING_no_replica, &info) &&
	    info_is_master(info) &&
	    info_number(info, SPAN("connected_slaves")) == 0)
		findings_add(doctor, FINDING_no_replica, redis_pointer(doctor),
		    NULL, doctor_sentinel_replicaof(doctor, info));
}

/* --- room and time --- */

void
doctor_redis_memory(struct doctor *doctor)
{
	struct span info;
	if (!has_info(doctor, FINDING_memory, &info))
		return;
	uint64_t most = info_number(info, SPAN("maxmemory"));
	uint64_t used = info_number(info, SPAN("used_memory"));
	if (most > 0 && used > most - most / 5)
		findings_add(doctor, FINDING_memory, redis_pointer(doctor),
		    mem_printf("%" PRIu64 " of %" PRIu64 " bytes are used",
			used, most),
		    mem_printf("%" PRIu64, 2 * used));
}

void
doctor_redis_clocks(struct doctor *doctor)
{
	int64_t apart = doctor->redis.apart_ms;
	if (!redis_is_seen(doctor, FINDING_clocks))
		return;
	if (!doctor->redis.clock_known)
		findings_add_skipped(doctor, FINDING_clocks,
		    "this Redis user may not run TIME");
	else if (apart >= APART_MS || apart <= -APART_MS)
		findings_add(doctor, FINDING_clocks, redis_pointer(doctor),
		    mem_printf("%.1f s %s", (double)llabs(apart) / 1000,
			apart > 0 ? "ahead" : "behind"), NULL);
}

/* --- what lies there --- */

static void
judge_records(
    struct doctor *doctor, enum finding_name name, uint64_t records)
{
	if (!redis_is_seen(doctor, name))
		return;
	if (!doctor->redis.counted)
		findings_add_skipped(
		    doctor, name, "the records could not be counted");
	else if (records > 0)
		findings_add(doctor, name, NULL,
		    mem_printf("%" PRIu64, records),
		    shell_quote(doctor->conf->file));
}

void
doctor_redis_records_unknown(struct doctor *doctor)
{
	judge_records(
	    doctor, FINDING_records_unknown, doctor->redis.unknown);
}

void
doctor_redis_records_failed(struct doctor *doctor)
{
	judge_records(doctor, FINDING_records_failed, doctor->redis.failed);
}

void
doctor_redis_old_libraries(struct doctor *doctor)
{
	const char *libraries = doctor->redis.libraries;
	if (!redis_is_seen(doctor, FINDING_old_libraries))
		return;
	if (!doctor->conf->store.functions)
		findings_add_well(doctor, FINDING_old_libraries,
		    mem_str(SPAN("store.scripting needs no functions")));
	else if (libraries == NULL)
		findings_add_skipped(doctor, FINDING_old_libraries,
		    "this Redis user may not run FUNCTION LIST");
	else if (*libraries != '\0')
		findings_add(doctor, FINDING_old_libraries, "/store/scripting",
		    mem_str(span_str(libraries)),
		    mem_printf("%.*s", (int)strcspn(libraries, ","),
			libraries));
}

/* Otherwise a finding says why they are not. */
static bool
keys_are_scanned(struct doctor *doctor, enum finding_name name)
{
	bool seen = redis_is_seen(doctor, name);
	if (seen && !doctor->redis.scanned)
		findings_add_skipped(
		    doctor, name, "this Redis user may not run SCAN");
	return seen && doctor->redis.scanned;
}

void
doctor_redis_foreign_keys(struct doctor *doctor)
{
	const struct diagnostics *redis = &doctor->redis;
	if (keys_are_scanned(doctor, FINDING_foreign_keys) &&
	    redis->foreign > 0)
		findings_add(doctor, FINDING_foreign_keys, "/store/prefix",
		    mem_printf("%" PRIu64 ", such as %s", redis->foreign,
			redis->foreign_name),
		    shell_quote(redis->foreign_name));
}

void
doctor_redis_encryption_keys(struct doctor *doctor)
{
	const struct diagnostics *redis = &doctor->redis;
	if (keys_are_scanned(doctor, FINDING_encryption_keys) &&
	    redis->locked > 0)
		findings_add(doctor, FINDING_encryption_keys,
		    "/store/encryption_keys",
		    mem_printf("%" PRIu64 ", for example with \"%s\"",
			redis->locked, redis->locked_id),
		    mem_printf("{\"id\": \"%s\", \"key\": {\"file\": FILE}}",
			redis->locked_id));
}

void
doctor_redis_plain_answers(struct doctor *doctor)
{
	if (doctor->conf->store.n_encryption_keys == 0)
		findings_add_well(doctor, FINDING_plain_answers,
		    mem_str(SPAN("store.encryption_keys is not set")));
	else if (keys_are_scanned(doctor, FINDING_plain_answers) &&
	    doctor->redis.plain > 0)
		findings_add(doctor, FINDING_plain_answers,
		    "/store/encryption_keys",
		    mem_printf("%" PRIu64, doctor->redis.plain), NULL);
}
