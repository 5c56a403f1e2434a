/* SPDX-License-Identifier: BSD-2-Clause */
#include <sodium.h>

#include "base/container.h"
#include "base/digest.h"
#include "base/digits.h"
#include "conf/address.h"
#include "conf/load/rule_private.h"
#include "conf/load/text_private.h"
#include "conf/load/url_private.h"
#include "conf/nearest.h"

enum { REDIS_PORT = 6379, REDIS_DB_MAX = 65535 };

static const char message_port[] = "the port must be between 1 and 65535";

/* --- parts of a URL --- */

/* Cuts a scheme off, which has no case (RFC 3986, 3.1). */
static bool
take_scheme(struct span *s, struct span scheme)
{
	if (s->len < scheme.len ||
	    strncasecmp(s->ptr, scheme.ptr, scheme.len) != 0)
		return false;
	*s = span_from(*s, scheme.len);
	return true;
}

/* Cuts off what stands before any of these bytes. */
static struct span
cut_before(struct span *s, const char *ends)
{
	size_t len = 0;
	while (len < s->len && strchr(ends, s->ptr[len]) == NULL)
		len++;
	struct span before = span_of(s->ptr, len);
	*s = span_from(*s, len);
	return before;
}

/* Cuts off what stands before the last "@", and that; empty: there is none. */
static struct span
cut_login(struct span *authority)
{
	size_t len = authority->len;
	while (len > 0 && authority->ptr[len - 1] != '@')
		len--;
	struct span login = span_of(authority->ptr, len);
	*authority = span_from(*authority, len);
	return login;
}

/*
 * Decodes %XX (RFC 3986, 2.1); an empty text gives NULL.  False: it is not
 * well-formed, or has a NUL.
 */
static bool
decode(struct loader *l, struct span s, char **ret_text)
{
	char *text = loader_alloc(l, s.len + 1);
	size_t len = 0;
	for (size_t i = 0; i < s.len; i++) {
		uint8_t byte = (uint8_t)s.ptr[i];
		size_t left = s.len - i - 1;
		if (byte == '%' &&
		    !hex_decode(span_of(s.ptr + i + 1, left < 2 ? left : 2),
			&byte, 1))
			return false;
		i += s.ptr[i] == '%' ? 2 : 0;
		if (byte == '\0')
			return false;
		text[len++] = (char)byte;
	}
	*ret_text = len > 0 ? text : NULL;
	return true;
}

/* "USER:PASSWORD@", or "USER@", whose password is a member of its own. */
static const char *
read_login(struct loader *l, struct span login, struct conf_login *ret_login)
{
	static const char encoded[] =
	    "user and password must be percent-encoded";
	struct span rest = span_of(login.ptr, login.len - 1);
	char *password = NULL;
	if (!decode(l, cut_before(&rest, ":"), &ret_login->user))
		return encoded;
	if (rest.len == 0)
		return ret_login->user == NULL ? "there is no user before the @"
					       : NULL;
	if (!decode(l, span_from(rest, 1), &password))
		return encoded;
	if (password == NULL)
		return "the password is empty";
	ret_login->password = text_secret(l, password);
	return NULL;
}

/* --- Redis --- */

static const char message_redis[] =
    "must be \"redis://[user[:pass]@]HOST:PORT[/DB]\", the same with "
    "\"rediss://\" for TLS, or \"unix:/path[?db=N]\"";
static const char message_managed[] =
    "must be \"managed\", \"redis://[user[:pass]@]HOST:PORT[/DB]\", the same "
    "with \"rediss://\" for TLS, or \"unix:/path[?db=N]\"";

/* The rest of a URL after "redis://". */
static const char *
read_redis(struct loader *l, struct span s, struct conf_redis *redis)
{
	struct address *address = &redis->address;
	bool has_port = false;
	struct span host = cut_before(&s, "/?#"), end;
	struct span login = cut_login(&host);
	/* A path and a query of ours have no "@". */
	if (span_has(s, '@') ||
	    (login.len > 0 && span_has(span_of(login.ptr, login.len - 1), '@')))
		return "write the password percent-encoded: \"@\" is %40, "
		       "\"#\" is %23, \"/\" is %2F, \"?\" is %3F";
	const char *wrong =
	    login.len > 0 ? read_login(l, login, &redis->url) : NULL;
	if (wrong == NULL)
		wrong = address_read_host_port(
		    host, &host, &address->port, &has_port);
	if (wrong != NULL)
		return wrong;
	address->kind = ADDRESS_TCP;
	if (!has_port)
		address->port = REDIS_PORT;
	if (address->port == 0)
		return message_port;
	bool v6 = span_has(host, ':');
	address->host = arena_str(l->conf->arena, host);
	address->text = loader_printf(l, "%s%s%s:%u", v6 ? "[" : "",
	    address->host, v6 ? "]" : "", (unsigned)address->port);
	/* "?ssl=true" of other clients, behind a database or none. */
	end = s;
	cut_before(&end, "?");
	if (span_starts(end, SPAN("?ssl")) || span_starts(end, SPAN("?tls")))
		return "only a number from 0 to 65535 may follow the address; "
		       "with TLS it begins with \"rediss://\"";
	/* "/" alone stands for 0. */
	if (s.len > 0 && !span_eq(s, SPAN("/")) &&
	    (s.ptr[0] != '/' ||
		!digits_read(span_from(s, 1), REDIS_DB_MAX, &redis->db)))
		return "only a number from 0 to 65535 may follow the address";
	return NULL;
}

static const char *
read_redis_url(struct loader *l, const char *text, struct conf_redis *redis)
{
	struct span s = span_str(text);
	redis->tls.on = take_scheme(&s, SPAN("rediss://"));
	if (redis->tls.on || take_scheme(&s, SPAN("redis://")))
		return read_redis(l, s, redis);
	if (!span_starts(s, SPAN("unix:")))
		return message_redis;
	/* "unix:/path", and "?db=N" behind it. */
	struct span path = cut_before(&s, "?");
	if (s.len > 0 &&
	    (!span_starts(s, SPAN("?db=")) ||
		!digits_read(span_from(s, 4), REDIS_DB_MAX, &redis->db)))
		return "only ?db= and a number from 0 to 65535 may follow the "
		       "path";
	return address_read(l->conf->arena,
	    arena_str(l->conf->arena, path), &redis->address);
}

/*
 * Address, database and login of a struct conf_redis, in which the field is
 * the address; and of the store whether it is managed.
 */
void
url_parse_redis(struct loader *l, const struct given *given)
{
	struct conf_redis *redis = CONTAINER_OF(
	    given->field, struct conf_redis, address);
	bool store = given->option->type == TYPE_REDIS;
	struct conf_redis read = {.managed = false};
	const char *wrong = NULL;
	char *text = text_read_hidden(l, given->at, given->value);
	if (text == NULL)
		return;
	read.managed = store && !strcmp(text, "managed");
	if (!read.managed)
		wrong = read_redis_url(l, text, &read);
	if (wrong == message_redis && store) {
		struct nearest nearest = nearest_to(span_str(text));
		nearest_try(&nearest, SPAN("managed"));
		wrong = nearest.found.ptr != NULL
		    ? "must be \"managed\" or a URL; did you mean \"managed\"?"
		    : message_managed;
	}
	sodium_memzero(text, strlen(text));
	redis->managed = read.managed;
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
		return;
	}
	redis->address = read.address;
	redis->db = read.db;
	redis->tls.on = read.tls.on;
	redis->url = read.url;
}

/* --- PostgreSQL --- */

static const char message_encoded[] =
    "user, password, database and parameters must be percent-encoded";

/* The folder of a Unix socket, "%2Frun%2Fpostgresql", or HOST[:PORT]. */
static const char *
wrong_host(struct loader *l, struct span text)
{
	uint16_t port = 0;
	bool has_port = false;
	char *folder = NULL;
	if (text.len > 0 && text.ptr[0] == '%') {
		if (!decode(l, cut_before(&text, ":"), &folder) ||
		    folder == NULL || *folder != '/')
			return "the folder of a Unix socket must begin with "
			       "%2F";
		text = span_str(loader_printf(l, "x%.*s", SPAN_FMT(text)));
	}
	const char *wrong =
	    address_read_host_port(text, &text, &port, &has_port);
	return wrong == NULL && has_port && port == 0 ? message_port : wrong;
}

static const char *
wrong_parameter(struct loader *l, struct span parameter)
{
	char *decoded = NULL;
	struct span value = parameter;
	struct span name = cut_before(&value, "=");
	for (size_t i = 0; i < name.len; i++)
		if (strchr("abcdefghijklmnopqrstuvwxyz_", name.ptr[i]) == NULL)
			return "the name of a parameter has small letters "
			       "only";
	if (name.len == 0 || value.len == 0)
		return "a parameter must be NAME=VALUE";
	if (span_eq(name, SPAN("password")) ||
	    span_eq(name, SPAN("sslpassword")))
		return "a parameter must not be a password";
	return decode(l, span_from(value, 1), &decoded) ? NULL
							: message_encoded;
}

/* Hosts, database and parameters. */
static const char *
wrong_rest(struct loader *l, struct span rest)
{
	char *decoded = NULL;
	struct span hosts = cut_before(&rest, "/?"), one;
	struct span database = cut_before(&rest, "?");
	const char *wrong = NULL;
	if (hosts.len == 0)
		hosts = (struct span){NULL, 0};
	while (wrong == NULL && span_next(&hosts, ',', &one))
		wrong = wrong_host(l, one);
	if (wrong == NULL && !decode(l, database, &decoded))
		wrong = message_encoded;
	rest = rest.len > 0 ? span_from(rest, 1) : (struct span){NULL, 0};
	while (wrong == NULL && span_next(&rest, '&', &one))
		wrong = wrong_parameter(l, one);
	return wrong;
}

/* Of the URL nothing is left out but the password, which is the login's. */
static const char *
read_postgres(struct loader *l, const char *text, struct conf_login *login,
    char **ret_url)
{
	struct span s = span_str(text);
	if (!span_starts(s, SPAN("postgresql://")) &&
	    !span_starts(s, SPAN("postgres://")))
		return "must be \"postgresql://[user[:pass]@]HOST[:PORT]"
		       "[/DATABASE]\"";
	s = span_from(s, (size_t)(strstr(text, "://") - text) + 3);
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= 0x20 || s.ptr[i] >= 0x7f || s.ptr[i] == '#')
			return message_encoded;
	struct span after = s;
	struct span authority = cut_before(&after, "/?");
	struct span user = cut_login(&authority);
	struct span rest = span_from(s, user.len);
	if (user.len > 0) {
		const char *wrong = read_login(l, user, login);
		if (wrong == NULL &&
		    span_has(span_of(user.ptr, user.len - 1), '@'))
			wrong = message_encoded;
		if (wrong == NULL && login->user == NULL)
			wrong = "the user is empty";
		if (wrong != NULL)
			return wrong;
		user = span_of(user.ptr, user.len - 1);
		user = cut_before(&user, ":");
	}
	*ret_url = loader_printf(l, "postgresql://%.*s%s%.*s", SPAN_FMT(user),
	    user.len > 0 ? "@" : "", SPAN_FMT(rest));
	return wrong_rest(l, rest);
}

/* The URI, of which libpq takes several hosts and parameters. */
void
url_parse_postgres(struct loader *l, const struct given *given)
{
	struct conf_broker *broker = given->base;
	char *text = text_read_hidden(l, given->at, given->value), *url;
	if (text == NULL)
		return;
	const char *wrong =
	    read_postgres(l, text, &broker->redis.url, &url);
	if (wrong != NULL)
		complaints_at(l, given->at, "%s", wrong);
	else
		broker->postgres = url;
	sodium_memzero(text, strlen(text));
}

/* --- upstreams --- */

static const char *
read_target(struct loader *l, const char *text, struct conf_target *target)
{
	struct span s = span_str(text), host;
	bool has_port = false;
	/* Small letters only, as address_parse has it. */
	if (span_starts(s, SPAN("unix:"))) {
		struct address address = {.host = NULL};
		const char *wrong =
		    address_read(l->conf->arena, text, &address);
		target->unix_path = address.host;
		target->host = loader_str(l, "localhost");
		target->authority = target->host;
		target->base_path = loader_str(l, "");
		return wrong;
	}
	target->tls = take_scheme(&s, SPAN("https://"));
	if (!target->tls && !take_scheme(&s, SPAN("http://")))
		return "must be a URL: http://HOST[:PORT], https://HOST[:PORT] "
		       "or unix:/path";
	struct span authority = cut_before(&s, "/?#");
	if (span_has(authority, '@'))
		return "the URL must not have a user or password";
	const char *wrong = address_read_host_port(
	    authority, &host, &target->port, &has_port);
	if (wrong != NULL)
		return wrong;
	unsigned usual = target->tls ? 443 : 80;
	if (!has_port)
		target->port = (uint16_t)usual;
	if (target->port == 0)
		return message_port;
	/* Its name for the Host field (RFC 9110, 7.2). */
	bool v6 = span_has(host, ':');
	target->host = arena_str(l->conf->arena, host);
	target->authority = loader_printf(
	    l, "%s%s%s", v6 ? "[" : "", target->host, v6 ? "]" : "");
	if (target->port != usual)
		target->authority = loader_printf(
		    l, "%s:%u", target->authority, (unsigned)target->port);
	while (s.len > 0 && s.ptr[s.len - 1] == '/')
		s.len--;
	target->base_path = arena_str(l->conf->arena, s);
	if (span_has(s, '?'))
		return "an upstream's URL must not have a query";
	return s.len > 0
	    ? rule_of[TYPE_TARGET_PATH].wrong(target->base_path)
	    : NULL;
}

const char *
url_wrong_keys(struct loader *l, const char *text)
{
	struct conf_target target = {.tls = false};
	size_t len = strcspn(text, "?");
	const char *wrong = read_target(
	    l, arena_str(l->conf->arena, span_of(text, len)), &target);
	const struct address address = {
	    .kind = ADDRESS_TCP, .host = target.host};
	/* Whoever stands on the way would make tokens of any tenant. */
	if (wrong == NULL && !target.tls &&
	    (target.unix_path != NULL || !address_is_local(&address)))
		wrong = "must begin with \"https://\": only of this machine "
			"itself are keys believed without TLS";
	return wrong != NULL
	    ? wrong
	    : rule_of[TYPE_TARGET_PATH].wrong(
		  loader_printf(l, "/%s", text + len));
}

void
url_add_target(struct loader *l, const struct json_place *at,
    const char *text, struct conf_upstream *upstream)
{
	struct conf_target target = {.url = loader_str(l, text)};
	const char *wrong = read_target(l, text, &target);
	if (wrong != NULL)
		complaints_at(l, at, "%s", wrong);
	else
		upstream->targets[upstream->n_targets++] = target;
}

void
url_parse_targets(struct loader *l, const struct given *given)
{
	struct conf_upstream *upstream = given->base;
	size_t count = json_array_size(given->value);
	upstream->targets = loader_alloc(l, count * sizeof *upstream->targets);
	for (size_t i = 0; i < count; i++) {
		struct json_place at = {given->at, NULL, i};
		char *text =
		    text_read(l, &at, json_array_get(given->value, i));
		if (text != NULL)
			url_add_target(l, &at, text, upstream);
	}
}
