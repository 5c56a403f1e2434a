/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/address.h"
#include "operators/commands/shell_quote.h"
#include "operators/doctor/redis_cli_private.h"
#include "store/redis/managed.h"

static const char name[] = "redis-cli ";

/* --- where it is --- */

static void
print_quoted(FILE *out, const char *option, const char *value)
{
	if (value == NULL)
		return;
	char *quoted = shell_quote(value);
	fprintf(out, " %s %s", option, quoted);
	free(quoted);
}

static void
print_port(FILE *out, const char *host, uint16_t port)
{
	print_quoted(out, "-h", *host != '\0' ? host : "localhost");
	fprintf(out, " -p %u", port);
}

static void
print_place(FILE *out, const char *place)
{
	char *host;
	uint16_t port;
	address_split(place, &host, &port);
	print_port(out, host, port);
	free(host);
}

/* False: what it says is not enough to know. */
static bool
print_server(FILE *out, const struct conf_redis *at)
{
	if (at->address.text == NULL)
		return false;
	if (at->address.kind == ADDRESS_TCP)
		print_port(out, at->address.host, at->address.port);
	else
		print_quoted(out, "-s", at->address.host);
	if (at->db != 0)
		fprintf(out, " -n %" PRId64, at->db);
	return true;
}

/* How it is spoken to: with TLS, and by whom it wants to know. */
static void
print_manner(FILE *out, const void *what)
{
	const struct conf_redis *redis = what;
	const struct conf_redis_tls *tls = &redis->tls;
	if (tls->on) {
		fputs(" --tls", out);
		print_quoted(out, "--sni", tls->server_name);
		print_quoted(out, "--cacert", tls->files.ca);
		print_quoted(out, "--cert", tls->files.certificate);
		print_quoted(out, "--key", tls->files.key);
	}
	if (redis->password != NULL)
		fputs(" --askpass", out);
}

static char *
where_managed_is(const struct conf *conf)
{
	char *path = managed_socket(conf);
	char *quoted = shell_quote(path);
	char *text = mem_printf("%s; it starts with its gateway: restart that "
				"if this stays silent: redis-cli PING", quoted);
	free(quoted);
	free(path);
	return text;
}

static char *
store_place(const struct conf *conf)
{
	const struct conf_redis *redis = &conf->store.redis;
	if (redis->managed)
		return where_managed_is(conf);
	if (redis->cluster.count > 0)
		return shell_quote(redis->cluster.list[0]);
	if (redis->address.text != NULL)
		return shell_quote(redis->address.text);
	return mem_str(conf_has_sentinels(conf)
		? SPAN("it and to each Sentinel") : SPAN("it"));
}

/* What the message says beyond that nothing was heard. */
static const char *
what_else(const struct conf *conf, const char *message)
{
	const struct conf_redis *redis = &conf->store.redis;
	if (redis->tls.on && strcasestr(message, "certificate") != NULL)
		return "; or name in store.tls the authority that issued its "
		       "certificate (ca), or the name that this has "
		       "(server_name)";
	if (span_starts(span_str(message), SPAN("TLS: ")))
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

char *
redis_cli_silent(const struct conf *conf, const char *message)
{
	char *place = store_place(conf);
	char *text = mem_printf("%s%s", place, what_else(conf, message));
	free(place);
	return text;
}

char *
redis_cli_refused(char *acl, const char *message)
{
	/* So Redis says that it wants none. */
	if (strstr(message, "without any password") == NULL)
		return acl;
	char *text = mem_printf("%s; or leave store.password out, if this "
				"Redis is to have none", acl);
	free(acl);
	return text;
}

/* --- into cures --- */

/*
 * The text, and behind each redis-cli in it what leads there: to a command all
 * of it, to options that say where already how that is spoken to.
 */
static char *
placed(const char *text, const char *there, const char *manner)
{
	char *result = NULL;
	size_t len;
	FILE *out = open_memstream(&result, &len);
	must(out != NULL);
	const char *found;
	while ((found = strstr(text, name)) != NULL) {
		const char *next = found + sizeof name - 1;
		fwrite(text, 1, (size_t)(next - text) - 1, out);
		if (*next >= 'A' && *next <= 'Z')
			fputs(there, out);
		if (*next == '-' || (*next >= 'A' && *next <= 'Z'))
			fputs(manner, out);
		fputc(' ', out);
		text = next;
	}
	fputs(text, out);
	must(fclose(out) == 0);
	return result;
}

/* What a function prints of something; the caller frees it. */
static char *
printed(void (*print)(FILE *out, const void *what), const void *what)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);
	must(out != NULL);
	print(out, what);
	must(fclose(out) == 0);
	return text;
}

/* place: what print prints. */
static void
put_into(struct doctor *doctor, size_t from,
    void (*print)(FILE *out, const void *place), const void *place,
    const struct conf_redis *is)
{
	char *there = printed(print, place);
	char *manner = printed(print_manner, is);
	for (size_t i = from; i < doctor->count; i++) {
		char *cure = doctor->list[i].cure;
		doctor->list[i].cure = placed(cure, there, manner);
		free(cure);
	}
	free(there);
	free(manner);
}

/* --- whose it is --- */

/* What leads to the Redis that is looked at; "" where nobody knows. */
static void
print_store(FILE *out, const void *looks)
{
	const struct doctor *doctor = looks;
	const struct conf_redis *at = &doctor->conf->store.redis;
	struct sentinel_named named;
	if (at->managed) {
		char *path = managed_socket(doctor->conf);
		print_quoted(out, "-s", path);
		free(path);
	} else if (doctor->redis.place != NULL)
		print_place(out, doctor->redis.place);
	else if (!print_server(out, at) && conf_has_sentinels(doctor->conf) &&
	    sentinel_query_agrees(at, doctor->sentinels, &named))
		print_port(out, named.host, named.port);
}

void
redis_cli_to_store(struct doctor *doctor, size_t from)
{
	put_into(
	    doctor, from, print_store, doctor, &doctor->conf->store.redis);
}

static void
print_broker(FILE *out, const void *redis)
{
	print_server(out, redis);
}

void
redis_cli_to_broker(
    struct doctor *doctor, size_t from, const struct conf_redis *at)
{
	put_into(doctor, from, print_broker, at, at);
}
