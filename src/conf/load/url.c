/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/container.h"
#include "base/digest.h"
#include "base/digits.h"
#include "base/mem.h"
#include "conf/address.h"
#include "conf/load/complaints_private.h"
#include "conf/load/path_private.h"
#include "conf/load/secret_value_private.h"
#include "conf/load/text_private.h"
#include "conf/load/url_private.h"
#include "conf/nearest.h"

enum { REDIS_PORT = 6379, REDIS_DB_MAX = 65535 };

/* Cuts a scheme off, which has no case (RFC 3986, 3.1). */
static bool
take_scheme(struct span *s, struct span scheme)
{
	if (s->len < scheme.len ||
	    !span_ieq(span_of(s->ptr, scheme.len), scheme))
		return false;
	*s = span_from(*s, scheme.len);
	return true;
}

/* What stands before the first byte that ends an authority; it is cut off. */
static struct span
cut_authority(struct span *s)
{
	size_t len = 0;
	while (len < s->len && memchr("/?#", s->ptr[len], 3) == NULL)
		len++;
	struct span authority = span_of(s->ptr, len);
	*s = span_from(*s, len);
	return authority;
}

/* --- Redis --- */

static const char message_redis[] =
    "must be \"redis://[user[:pass]@]HOST:PORT[/DB]\", the same with "
    "\"rediss://\" for TLS, or \"unix:/path[?db=N]\"";
static const char message_managed[] =
    "must be \"managed\", \"redis://[user[:pass]@]HOST:PORT[/DB]\", the same "
    "with \"rediss://\" for TLS, or \"unix:/path[?db=N]\"";

static const char message_nearly_managed[] =
    "must be \"managed\" or a URL; did you mean \"managed\"?";

static bool
is_nearly_managed(const char *text)
{
	struct nearest nearest = nearest_to(span_str(text));
	nearest_try(&nearest, SPAN("managed"));
	return nearest.found.ptr != NULL;
}

/* What a URL of Redis says. */
struct redis_url {
	struct address address;
	bool tls;
	int64_t db;
	char *user;
	char *password;
};

static void
redis_url_free(struct redis_url *url)
{
	address_clear(NULL, &url->address);
	text_free(&url->user);
	text_free(&url->password);
}

bool
url_decode(struct span s, char **ret_text)
{
	char *text = mem_zero(s.len + 1);
	size_t len = 0;
	bool valid = true;
	for (size_t i = 0; i < s.len && valid; i++) {
		uint8_t byte = (uint8_t)s.ptr[i];
		if (byte == '%') {
			size_t left = s.len - i - 1;
			valid = hex_decode(
			    span_of(s.ptr + i + 1, left < 2 ? left : 2), &byte,
			    1);
			i += 2;
		}
		valid = valid && byte != '\0';
		text[len++] = (char)byte;
	}
	if (!valid || len == 0)
		text_free(&text);
	if (valid)
		*ret_text = text;
	return valid;
}

/* The number of a database; nothing stands for 0. */
static bool
read_db(struct span s, int64_t *ret_db)
{
	*ret_db = 0;
	return s.len == 0 || digits_read(s, REDIS_DB_MAX, ret_db);
}

/* "USER:PASSWORD", or "USER", whose password is a member of its own. */
static const char *
read_userinfo(struct span userinfo, struct redis_url *url)
{
	const char *colon =
	    userinfo.len ? memchr(userinfo.ptr, ':', userinfo.len) : NULL;
	size_t len = colon ? (size_t)(colon - userinfo.ptr) : userinfo.len;
	if (!url_decode(span_of(userinfo.ptr, len), &url->user))
		return "user and password must be percent-encoded";
	if (colon == NULL)
		return url->user == NULL ? "there is no user before the @"
					 : NULL;
	if (!url_decode(span_from(userinfo, len + 1), &url->password))
		return "user and password must be percent-encoded";
	return url->password == NULL ? "the password is empty" : NULL;
}

/* "?ssl=true" of other clients, behind a database or none. */
static bool
asks_for_tls(struct span rest)
{
	const char *mark = rest.len ? memchr(rest.ptr, '?', rest.len) : NULL;
	struct span query = mark != NULL
	    ? span_from(rest, (size_t)(mark - rest.ptr) + 1)
	    : SPAN("");
	return span_starts(query, SPAN("ssl")) ||
	    span_starts(query, SPAN("tls"));
}

/* The rest of a URL after "redis://". */
static const char *
read_redis(struct span s, struct redis_url *url)
{
	bool has_port = false;
	struct span authority = cut_authority(&s);
	struct span host = authority;
	for (size_t i = 0; i < authority.len; i++)
		if (authority.ptr[i] == '@')
			host = span_from(authority, i + 1);
	struct span login =
	    span_of(authority.ptr, authority.len - host.len);
	/* A path and a query of ours have no "@". */
	if ((s.len > 0 && memchr(s.ptr, '@', s.len) != NULL) ||
	    (login.len > 0 && memchr(login.ptr, '@', login.len - 1) != NULL))
		return "write the password percent-encoded: \"@\" is %40, "
		       "\"#\" is %23, \"/\" is %2F, \"?\" is %3F";
	if (login.len > 0) {
		const char *wrong =
		    read_userinfo(span_of(login.ptr, login.len - 1), url);
		if (wrong != NULL)
			return wrong;
	}
	struct address *address = &url->address;
	const char *wrong = address_read_host_port(
	    host, &address->host, &address->port, &has_port);
	if (wrong != NULL)
		return wrong;
	address->kind = ADDRESS_TCP;
	if (!has_port)
		address->port = REDIS_PORT;
	if (address->port == 0)
		return "the port must be between 1 and 65535";
	bool v6 = strchr(address->host, ':') != NULL;
	address->text = mem_printf("%s%s%s:%u", v6 ? "[" : "", address->host,
	    v6 ? "]" : "", (unsigned)address->port);
	if (asks_for_tls(s))
		return "only a number from 0 to 65535 may follow the address; "
		       "with TLS it begins with \"rediss://\"";
	if (s.len > 0 &&
	    (s.ptr[0] != '/' || !read_db(span_from(s, 1), &url->db)))
		return "only a number from 0 to 65535 may follow the address";
	return NULL;
}

/* "unix:/path", and "?db=N" behind it. */
static const char *
read_redis_socket(struct span s, struct redis_url *url)
{
	static const char query[] = "?db=";
	const char *mark = memchr(s.ptr, '?', s.len);
	struct span path =
	    span_of(s.ptr, mark ? (size_t)(mark - s.ptr) : s.len);
	struct span rest = span_from(s, path.len);
	if (rest.len > 0 &&
	    (!span_starts(rest, span_str(query)) || rest.len == 4 ||
		!read_db(span_from(rest, 4), &url->db)))
		return "only ?db= and a number from 0 to 65535 may follow the "
		       "path";
	char *text = mem_str(path);
	const char *wrong = address_read(text, &url->address);
	text_free(&text);
	return wrong;
}

static const char *
read_redis_url(const char *text, struct redis_url *url)
{
	struct span s = span_str(text);
	url->tls = take_scheme(&s, SPAN("rediss://"));
	if (url->tls || take_scheme(&s, SPAN("redis://")))
		return read_redis(s, url);
	if (span_starts(s, SPAN("unix:")))
		return read_redis_socket(s, url);
	return message_redis;
}

/* The field is the address of a struct conf_redis. */
static void
parse_redis(struct loader *l, const struct given *given, bool may_be_managed)
{
	struct conf_redis *redis = CONTAINER_OF(
	    given_field(given), struct conf_redis, address);
	struct redis_url url = {.db = 0};
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	text_env_hide(given->value);
	redis->managed = may_be_managed && !strcmp(text, "managed");
	const char *wrong = redis->managed ? NULL : read_redis_url(text, &url);
	if (wrong == message_redis && may_be_managed)
		wrong = is_nearly_managed(text) ? message_nearly_managed
						: message_managed;
	if (wrong != NULL)
		complaints_at(l, given->at, "%s", wrong);
	text_free(&text);
	if (wrong != NULL) {
		redis_url_free(&url);
		return;
	}
	redis->address = url.address;
	redis->db = url.db;
	redis->tls.on = url.tls;
	secret_value_set_login(l, url.user, secret_value_of(&url.password));
}

void
url_parse_redis(struct loader *l, const struct given *given)
{
	parse_redis(l, given, true);
}

void
url_parse_redis_url(struct loader *l, const struct given *given)
{
	parse_redis(l, given, false);
}

/* --- upstreams --- */

/* Gives the target its name for the Host field (RFC 9110, 7.2). */
static void
set_authority(struct conf_target *target)
{
	bool v6 = strchr(target->host, ':') != NULL;
	unsigned usual = target->tls ? 443 : 80;
	char port[8] = "";
	if (target->port != usual)
		snprintf(port, sizeof port, ":%u", (unsigned)target->port);
	target->authority = mem_printf(
	    "%s%s%s%s", v6 ? "[" : "", target->host, v6 ? "]" : "", port);
}

static const char *
read_base_path(struct span path, struct conf_target *target)
{
	while (path.len > 0 && path.ptr[path.len - 1] == '/')
		path.len--;
	target->base_path = mem_str(path);
	if (memchr(target->base_path, '?', path.len) != NULL)
		return "an upstream's URL must not have a query";
	return path.len > 0 ? path_wrong_target(target->base_path) : NULL;
}

static const char *
read_target(const char *text, struct conf_target *target)
{
	struct span s = span_str(text);
	bool has_port = false;
	/* Small letters only, as address_parse has it. */
	if (span_starts(s, SPAN("unix:"))) {
		struct address address;
		const char *wrong = address_read(text, &address);
		if (wrong != NULL)
			return wrong;
		target->unix_path = address.host;
		target->host = mem_str(SPAN("localhost"));
		target->authority = mem_str(SPAN("localhost"));
		target->base_path = mem_str(SPAN(""));
		text_free(&address.text);
		return NULL;
	}
	target->tls = take_scheme(&s, SPAN("https://"));
	if (!target->tls && !take_scheme(&s, SPAN("http://")))
		return "must be a URL: http://HOST[:PORT], https://HOST[:PORT] "
		       "or unix:/path";
	struct span authority = cut_authority(&s);
	if (memchr(authority.ptr, '@', authority.len) != NULL)
		return "an upstream's URL must not have a user or password";
	const char *wrong = address_read_host_port(
	    authority, &target->host, &target->port, &has_port);
	if (wrong != NULL)
		return wrong;
	if (!has_port)
		target->port = target->tls ? 443 : 80;
	if (target->port == 0)
		return "the port must be between 1 and 65535";
	set_authority(target);
	return read_base_path(s, target);
}

static void
target_free(struct conf_target *target)
{
	text_free(&target->url);
	text_free(&target->host);
	text_free(&target->authority);
	text_free(&target->unix_path);
	text_free(&target->base_path);
}

void
url_load_target(struct loader *l, const struct json_place *at,
    const json_t *value, struct conf_upstream *upstream)
{
	struct conf_target target = {.tls = false};
	char *text = text_read(l, at, value);
	if (text == NULL)
		return;
	const char *wrong = read_target(text, &target);
	if (wrong != NULL) {
		complaints_at(l, at, "%s", wrong);
		text_free(&text);
		target_free(&target);
		return;
	}
	target.url = text;
	upstream->targets = mem_grow(
	    upstream->targets, (upstream->n_targets + 1) * sizeof target);
	upstream->targets[upstream->n_targets++] = target;
}

void
url_parse_targets(struct loader *l, const struct given *given)
{
	struct conf_upstream *upstream = given->base;
	if (!json_is_array(given->value)) {
		complaints_at(l, given->at, "must be a list of URLs");
		return;
	}
	if (json_array_size(given->value) == 0)
		complaints_at(l, given->at, "must not be empty");
	for (size_t i = 0; i < json_array_size(given->value); i++) {
		struct json_place at = {given->at, NULL, i};
		url_load_target(
		    l, &at, json_array_get(given->value, i), upstream);
	}
}

void
url_clear_targets(void *base, void *field)
{
	struct conf_upstream *upstream = base;
	(void)field;
	for (size_t i = 0; i < upstream->n_targets; i++)
		target_free(&upstream->targets[i]);
	free(upstream->targets);
	upstream->targets = NULL;
	upstream->n_targets = 0;
}
