/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "base/mem.h"
#include "conf/address.h"
#include "conf/load/complaints_private.h"
#include "conf/load/secret_value_private.h"
#include "conf/load/text_private.h"
#include "conf/load/url_private.h"

/* The parts of the URI, as they are spelled. */
struct postgres_url {
	struct span user; /* empty: none */
	struct span rest; /* hosts, database and parameters */
	char *password;   /* decoded; NULL: none */
};

static const char message_encoded[] =
    "user, password, database and parameters must be percent-encoded";

/* Whether it is percent-encoded, and not empty. */
static bool
is_encoded(struct span s)
{
	char *text = NULL;
	bool valid = url_decode(s, &text) && text != NULL;
	text_free(&text);
	return valid;
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

static const char *
read_login(struct span login, struct postgres_url *url)
{
	struct span rest = login;
	url->user = cut_before(&rest, ":");
	if (url->user.len == 0)
		return "the user is empty";
	if (!is_encoded(url->user))
		return message_encoded;
	if (rest.len == 0)
		return NULL;
	if (memchr(rest.ptr, '@', rest.len) != NULL ||
	    !url_decode(span_from(rest, 1), &url->password))
		return message_encoded;
	return url->password == NULL ? "the password is empty" : NULL;
}

/* The folder of a Unix socket, "%2Frun%2Fpostgresql", or HOST[:PORT]. */
static const char *
wrong_host(struct span text)
{
	char *host = NULL;
	uint16_t port = 0;
	bool has_port = false;
	struct span name = text;
	if (text.len > 0 && text.ptr[0] == '%') {
		struct span folder = cut_before(&name, ":");
		if (!url_decode(folder, &host) || host == NULL ||
		    *host != '/') {
			text_free(&host);
			return "the folder of a Unix socket must begin with "
			       "%2F";
		}
		text_free(&host);
		if (name.len == 0)
			return NULL;
		char *other = mem_printf("x%.*s", SPAN_FMT(name));
		const char *wrong = address_read_host_port(
		    span_str(other), &host, &port, &has_port);
		free(other);
		if (wrong != NULL)
			return wrong;
	} else {
		const char *wrong =
		    address_read_host_port(text, &host, &port, &has_port);
		if (wrong != NULL)
			return wrong;
	}
	text_free(&host);
	return has_port && port == 0
	    ? "the port must be between 1 and 65535"
	    : NULL;
}

static const char *
wrong_parameter(struct span parameter)
{
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
	if (value.len > 1 && !is_encoded(span_from(value, 1)))
		return message_encoded;
	return NULL;
}

/* Hosts, database and parameters. */
static const char *
wrong_rest(struct span rest)
{
	struct span hosts = cut_before(&rest, "/?");
	struct span one;
	const char *wrong = NULL;
	if (hosts.len == 0)
		hosts = (struct span){NULL, 0};
	while (wrong == NULL && span_next(&hosts, ',', &one))
		wrong = wrong_host(one);
	if (wrong == NULL && rest.len > 0 && rest.ptr[0] == '/') {
		struct span name = cut_before(&rest, "?");
		if (name.len > 1 && !is_encoded(span_from(name, 1)))
			wrong = message_encoded;
	}
	if (rest.len == 0)
		return wrong;
	rest = span_from(rest, 1);
	while (wrong == NULL && span_next(&rest, '&', &one))
		wrong = wrong_parameter(one);
	return wrong;
}

static const char *
read_url(const char *text, struct postgres_url *url)
{
	struct span s = span_str(text);
	if (span_starts(s, SPAN("postgresql://")))
		s = span_from(s, 13);
	else if (span_starts(s, SPAN("postgres://")))
		s = span_from(s, 11);
	else
		return "must be \"postgresql://[user[:pass]@]HOST[:PORT]"
		       "[/DATABASE]\"";
	for (size_t i = 0; i < s.len; i++)
		if (s.ptr[i] <= 0x20 || s.ptr[i] >= 0x7f || s.ptr[i] == '#')
			return message_encoded;
	url->rest = s;
	struct span login = cut_before(&s, "/?");
	const char *at = NULL;
	for (size_t i = 0; i < login.len; i++)
		if (login.ptr[i] == '@')
			at = login.ptr + i;
	if (at != NULL) {
		size_t len = (size_t)(at - login.ptr);
		const char *wrong = read_login(span_of(login.ptr, len), url);
		if (wrong != NULL)
			return wrong;
		url->rest = span_from(url->rest, len + 1);
	}
	return wrong_rest(url->rest);
}

void
url_postgres_parse(struct loader *l, const struct given *given)
{
	struct postgres_url url = {.password = NULL};
	char *text = text_read(l, given->at, given->value);
	if (text == NULL)
		return;
	text_env_hide(given->value);
	const char *wrong = read_url(text, &url);
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
		text_free(&url.password);
	} else {
		char **field = given_field(given);
		text_free(field);
		*field = mem_printf("postgresql://%.*s%s%.*s",
		    SPAN_FMT(url.user), url.user.len > 0 ? "@" : "",
		    SPAN_FMT(url.rest));
		secret_value_set_login(l, NULL, secret_value_of(&url.password));
	}
	text_free(&text);
}
