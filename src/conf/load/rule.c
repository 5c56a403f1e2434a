/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ascii.h"
#include "base/field.h"
#include "base/hex.h"
#include "conf/address.h"
#include "conf/load/rule_private.h"
#include "conf/name.h"
#include "conf/network.h"

/* --- what HTTP has --- */

static const char *
wrong_field(const char *text)
{
	/* What belongs to one connection or frames the message. */
	static const char *const ours[] = {"connection", "content-length",
	    "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
	    "transfer-encoding", "upgrade"};
	if (!field_is_token(span_str(text)))
		return "must be the name of a header, without a colon or a "
		       "blank";
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		if (!strcasecmp(text, ours[i]))
			return "this header belongs to the connection, not "
			       "to the request";
	return NULL;
}

static const char *
wrong_field_value(const char *text)
{
	size_t len = strlen(text);
	if (len == 0)
		return "must not be empty";
	if (!field_is_value(span_str(text)))
		return "must not contain control characters";
	if (strchr(" \t", text[0]) != NULL || strchr(" \t", text[len - 1]))
		return "must not begin or end with a blank";
	return NULL;
}

static const char *
wrong_message_header(const char *text)
{
	return field_is_token(span_str(text)) ? NULL
					      : "must be the name of a header";
}

static const char *
wrong_method(const char *text)
{
#define SAYS(name) {name, "must be in upper case; did you mean \"" name "\"?"}
	static const struct {
		const char *name, *wrong;
	} known[] = {SAYS("POST"), SAYS("GET"), SAYS("PUT"), SAYS("PATCH"),
	    SAYS("DELETE"), SAYS("HEAD"), SAYS("OPTIONS")};
#undef SAYS
	bool lower = false;
	if (!field_is_token(span_str(text)))
		return "must be the name of a method, such as \"POST\"; "
		       "several are a list";
	for (const char *p = text; *p != '\0'; p++)
		lower |= ascii_is_lower(*p);
	for (size_t i = 0; lower && i < sizeof known / sizeof *known; i++)
		if (!strcasecmp(text, known[i].name))
			return known[i].wrong;
	if (lower)
		return "must be in upper case";
	return !strcmp(text, "CONNECT") || !strcmp(text, "TRACE")
	    ? "this method is never served"
	    : NULL;
}

/* As browsers send it (RFC 6454, section 7), byte for byte. */
static const char *
wrong_origin(const char *text)
{
	const char *host = strstr(text, "://");
	if (!strcmp(text, "*"))
		return NULL;
	if (host == NULL || host == text || host[3] == '\0' ||
	    strpbrk(host + 3, "/?#@ \t\"*") != NULL)
		return "must be \"*\", or an origin as browsers send it: "
		       "\"https://shop.example\", without a path";
	for (const char *c = text; *c != '\0'; c++)
		if (*c <= ' ' || *c > '~' || (*c >= 'A' && *c <= 'Z'))
			return "must be in lower case, as browsers send it";
	return NULL;
}

static const char *
wrong_uri_prefix(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text <= 0x20 || *text >= 0x7f ||
		    strchr("\"<>\\^`{|}", *text) != NULL)
			return "must be the beginning of a URI";
	return NULL;
}

/* A path with an optional query, as it stands in a request's target. */
static const char *
wrong_target(const char *text)
{
	struct span rest = span_of(text, strcspn(text, "?")), segment;
	if (*text != '/')
		return strstr(text, "://") != NULL
		    ? "must be the path alone, without the host"
		    : "must begin with \"/\"";
	rest = span_from(rest, 1);
	while (span_next(&rest, '/', &segment)) {
		if (span_is_dots(segment))
			return "must not have \".\" or \"..\" as a segment";
		if (segment.len == 0 && rest.ptr != NULL)
			return "must not have two slashes in a row";
	}
	for (const char *p = text; *p != '\0'; p++) {
		uint8_t byte;
		if (*p <= 0x20 || *p >= 0x7f || *p == '#' || *p == '\\')
			return "must consist of visible ASCII without \"#\" "
			       "and \"\\\"";
		if (*p == '%' &&
		    (!hex_decode(span_of(p + 1, strnlen(p + 1, 2)), &byte, 1) ||
			byte == 0))
			return "\"%\" must begin a percent-encoded byte other "
			       "than %00";
	}
	return NULL;
}

/* RFC 6901. */
static const char *
wrong_pointer(const char *text)
{
	if (*text != '/')
		return "must be a JSON pointer like \"/order_id\" or "
		       "\"/order/id\"";
	for (; *text != '\0'; text++)
		if (*text == '~' && text[1] != '0' && text[1] != '1')
			return "in a JSON pointer, \"~\" is written \"~0\"";
	return NULL;
}

/* --- what servers have --- */

/* Every key begins with it, and Redis gives braces a meaning there. */
static const char *
wrong_key_prefix(const char *text)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz"
				  "0123456789.:_@/-");
	if (*text == '\0')
		return "must not be empty";
	if (text[len] != '\0')
		return "may contain only letters, digits and . : _ @ / -";
	return NULL;
}

/* TABLE or SCHEMA.TABLE; names with a dot of their own are not spelled here. */
static const char *
wrong_table(const char *text)
{
	struct span rest = span_str(text), name;
	const char *wrong = name_wrong(text);
	size_t names = 0;
	while (wrong == NULL && span_next(&rest, '.', &name)) {
		if (++names > 2)
			wrong = "must be TABLE or SCHEMA.TABLE";
		else if (name.len == 0 || name.len > IDENTIFIER_MAX)
			wrong = "must have 1 to 63 bytes";
	}
	return wrong;
}

/* A column, or a channel. */
static const char *
wrong_column(const char *text)
{
	const char *wrong = name_wrong(text);
	return wrong == NULL && strlen(text) > IDENTIFIER_MAX
	    ? "must have 1 to 63 bytes"
	    : wrong;
}

/* --- all of them --- */

const struct rule rule_of[TYPE_COUNT_] = {
    [TYPE_TEXT] = {.wrong = name_wrong},
    [TYPE_PLAIN_NAME] = {.wrong = name_wrong_plain},
    [TYPE_PREFIX] = {.wrong = wrong_key_prefix},
    [TYPE_URI_PREFIX] = {.wrong = wrong_uri_prefix},
    [TYPE_FIELD] = {.wrong = wrong_field, .none = true},
    [TYPE_FIELD_VALUE] = {.wrong = wrong_field_value},
    [TYPE_MESSAGE_HEADERS] = {.wrong = wrong_message_header},
    [TYPE_METHOD] = {.wrong = wrong_method},
    [TYPE_TARGET_PATH] = {.wrong = wrong_target},
    [TYPE_POINTER] = {.wrong = wrong_pointer},
    [TYPE_POINTERS] = {.wrong = wrong_pointer},
    [TYPE_IGNORED] = {.wrong = wrong_pointer},
    [TYPE_DERIVE_KEY] = {.wrong = wrong_pointer},
    [TYPE_LABEL] = {.wrong = wrong_pointer},
    [TYPE_ENTITY] = {.wrong = wrong_pointer},
    [TYPE_SOURCE_KEY] = {.wrong = wrong_pointer},
    [TYPE_SOURCE_ORDER] = {.wrong = wrong_pointer},
    [TYPE_TOPIC] = {.wrong = name_wrong_topic},
    [TYPE_TABLE] = {.wrong = wrong_table},
    [TYPE_COLUMN] = {.wrong = wrong_column},
    [TYPE_OPTIONAL_COLUMN] = {.wrong = wrong_column},
    [TYPE_FIELDS] = {wrong_field, false, true, false, false},
    [TYPE_KEY_FIELDS] = {wrong_field, false, true, true, false},
    [TYPE_ORIGINS] = {wrong_origin, true, false, true, false},
    [TYPE_METHODS] = {wrong_method, true, false, true, false},
    [TYPE_ROUTE_NAMES] = {name_wrong, true, false, false, false},
    [TYPE_NETWORKS] = {network_wrong, true, true, false, false},
    [TYPE_HOST_PORTS] = {address_wrong_host_port, true, true, false, false},
    [TYPE_TOPICS] = {name_wrong_topic, true, false, false, false},
};

bool
rule_is_ours(const char *field)
{
	static const struct span forwarded = {"X-Forwarded-", 12};
	struct span name = span_str(field);
	enum field_kind kind = field_kind_met(name);
	bool set = name.len >= forwarded.len &&
		   field_names_meet(span_of(field, forwarded.len), forwarded);
	return set || (kind != FIELD_OTHER && kind != FIELD_OVERRIDE);
}
