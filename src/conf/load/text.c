/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/field.h"
#include "base/mem.h"
#include "base/secret.h"
#include "conf/address.h"
#include "conf/load/complaints_private.h"
#include "conf/load/text_private.h"
#include "conf/name.h"

/* Longer than any secret, or the name of any certificate. */
enum { TEXT_FILE_MAX = 1 << 20 };

void
text_free(char **text)
{
	if (*text == NULL)
		return;
	sodium_memzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

/* --- the environment --- */

/*
 * What the environment had, so that a reload finds it again: for as long as
 * the process lives.  Main thread.
 */
static struct hidden {
	struct hidden *next;
	char *name;
	char *value; /* of base/secret.h */
} *all_hidden;

static struct hidden *
find_hidden(const char *name)
{
	struct hidden *hidden = all_hidden;
	while (hidden != NULL && strcmp(hidden->name, name) != 0)
		hidden = hidden->next;
	return hidden;
}

const char *
text_env_value(const char *name)
{
	const char *value = getenv(name);
	const struct hidden *hidden = find_hidden(name);
	bool taken = value != NULL && *value == '\0' && hidden != NULL;
	return taken ? hidden->value : value;
}

/*
 * In place: what begins a process stands in its memory, and for everybody of
 * its user in /proc.  The name stays, so that no list changes that another
 * thread may read.
 */
void
text_env_hide(const json_t *value)
{
	const char *name = json_string_value(json_object_get(value, "env"));
	char *text = name ? getenv(name) : NULL;
	if (text == NULL || *text == '\0')
		return;
	struct hidden *hidden = find_hidden(name);
	if (hidden == NULL) {
		hidden = mem_zero(sizeof *hidden);
		hidden->name = mem_str(span_str(name));
		hidden->next = all_hidden;
		all_hidden = hidden;
	}
	secret_free(hidden->value);
	hidden->value = secret_str(span_str(text));
	sodium_memzero(text, strlen(text));
}

/* --- a file --- */

static int
read_up_to(int fd, size_t max, char *buffer, size_t *ret_len)
{
	size_t len = 0;
	for (;;) {
		ssize_t n = read(fd, buffer + len, max + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > max)
			return EFBIG;
	}
	*ret_len = len;
	return 0;
}

int
text_file_read(const char *name, size_t max, char **ret_text, size_t *ret_len)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	/* One buffer that never moves leaves no copies of secrets behind. */
	char *buffer = mem_zero(max + 2);
	size_t len = 0;
	int error = read_up_to(fd, max, buffer, &len);
	close(fd);
	if (error == 0) {
		*ret_text = mem_copy(buffer, len + 1);
		*ret_len = len;
	}
	sodium_memzero(buffer, len);
	free(buffer);
	return error;
}

void
text_note_secret(struct loader *l, const struct json_place *at,
    const struct option *option, const char *file)
{
	struct strings *secrets = &l->conf->secrets;
	/* One file may be read several times, as what routes share is. */
	for (size_t i = 1; i < secrets->count; i += 2)
		if (!strcmp(secrets->list[i], file))
			return;
	secrets->list = mem_grow(secrets->list,
	    (secrets->count + 2) * sizeof *secrets->list);
	secrets->list[secrets->count++] = complaints_at_pointer(at, option);
	secrets->list[secrets->count++] = mem_str(span_str(file));
}

/* --- a string, or where one is --- */

bool
text_is_one(const json_t *value)
{
	return json_is_string(value) || json_object_get(value, "env") ||
	       json_object_get(value, "file");
}

static char *
text_from_env(struct loader *l, const struct json_place *at, const char *name)
{
	const char *value = text_env_value(name);
	if (value == NULL) {
		complaints_at(l, at, "%s is not set in the environment", name);
		return NULL;
	}
	return mem_str(span_str(value));
}

/* Of one line; the lines of a certificate may end as they like. */
static bool
ends_as_on_windows(const char *text, size_t len)
{
	return len > 1 && text[len - 2] == '\r' &&
	    memchr(text, '\n', len) == text + len - 1;
}

static char *
text_from_file(struct loader *l, const struct json_place *at, const char *name)
{
	char *text;
	size_t len;
	int error = text_file_read(name, TEXT_FILE_MAX, &text, &len);
	if (error != 0) {
		complaints_at(l, at, "%s cannot be read: %s", name,
		    error_of_file(error));
		return NULL;
	}
	const char *wrong = memchr(text, '\0', len) != NULL
	    ? "is not text"
	    : ends_as_on_windows(text, len)
	    ? "ends with CR LF, as files of Windows do, and the CR would be a "
	      "part of the value: end it with LF alone, or with nothing"
	    : NULL;
	if (wrong != NULL) {
		complaints_at(l, at, "%s %s", name, wrong);
		sodium_memzero(text, len);
		free(text);
		return NULL;
	}
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	text_note_secret(l, at, NULL, name);
	return text;
}

char *
text_read(struct loader *l, const struct json_place *at, const json_t *value)
{
	if (json_is_string(value))
		return mem_str(span_str(json_string_value(value)));
	const json_t *env = json_object_get(value, "env");
	const json_t *file = json_object_get(value, "file");
	if (env == NULL && file == NULL && !json_is_object(value)) {
		complaints_at(l, at, "must be a string");
		return NULL;
	}
	const json_t *name = env ? env : file;
	if (json_object_size(value) != 1 || !json_is_string(name)) {
		complaints_at(l, at,
		    "must be a string, {\"env\": NAME} or {\"file\": PATH}");
		return NULL;
	}
	if (env != NULL)
		return text_from_env(l, at, json_string_value(env));
	return text_from_file(l, at, json_string_value(file));
}

/* --- strings with rules of their own --- */

const char *
text_wrong_field(const char *text)
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

/* What is wrong with letters that are not all capitals. */
static const char *
wrong_case(const char *text)
{
#define SAYS(name) {name, "must be in upper case; did you mean \"" name "\"?"}
	static const struct {
		const char *name;
		const char *wrong;
	} known[] = {SAYS("POST"), SAYS("GET"), SAYS("PUT"), SAYS("PATCH"),
	    SAYS("DELETE"), SAYS("HEAD"), SAYS("OPTIONS")};
#undef SAYS
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
		if (!strcasecmp(text, known[i].name))
			return known[i].wrong;
	return "must be in upper case";
}

const char *
text_wrong_method(const char *text)
{
	if (!field_is_token(span_str(text)))
		return "must be the name of a method, such as \"POST\"; "
		       "several are a list";
	for (const char *p = text; *p != '\0'; p++)
		if (ascii_is_lower(*p))
			return wrong_case(text);
	if (!strcmp(text, "CONNECT") || !strcmp(text, "TRACE"))
		return "this method is never served";
	return NULL;
}

bool
text_is_ours(const char *field)
{
	static const struct span forwarded = {"X-Forwarded-", 12};
	struct span name = span_str(field);
	enum field_kind kind = field_kind_met(name);
	bool set = name.len >= forwarded.len &&
		   field_names_meet(span_of(field, forwarded.len), forwarded);
	return set || (kind != FIELD_OTHER && kind != FIELD_OVERRIDE);
}

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

static const char *
wrong_uri_prefix(const char *text)
{
	for (; *text != '\0'; text++)
		if (*text <= 0x20 || *text >= 0x7f ||
		    strchr("\"<>\\^`{|}", *text) != NULL)
			return "must be the beginning of a URI";
	return NULL;
}

/* A field's name; "" stands for none. */
static const char *
wrong_optional_field(const char *text)
{
	return *text == '\0' ? NULL : text_wrong_field(text);
}

void
text_parse(struct loader *l, const struct given *given)
{
	static const char *(*const wrong[TYPE_COUNT_])(const char *text) = {
	    [TYPE_TEXT] = name_wrong,
	    [TYPE_PLAIN_NAME] = name_wrong_plain,
	    [TYPE_PREFIX] = wrong_key_prefix,
	    [TYPE_URI_PREFIX] = wrong_uri_prefix,
	    [TYPE_FIELD] = wrong_optional_field,
	    [TYPE_TOPIC] = name_wrong_topic,
	};
	char **field = given_field(given);
	char *text = text_read(l, given->at, given->value);
	const char *why = text ? wrong[given->option->type](text) : NULL;
	if (why != NULL) {
		complaints_at(l, given->at, "%s", why);
		text_free(&text);
	}
	if (text == NULL)
		return;
	text_free(field);
	*field = text;
}

void
text_parse_address(struct loader *l, const struct given *given)
{
	struct address address;
	if (!text_is_one(given->value)) {
		complaints_at(l, given->at,
		    "must be a string like \"127.0.0.1:8080\"");
		return;
	}
	char *text = text_read(l, given->at, given->value);
	const char *wrong = text ? address_read(text, &address) : NULL;
	if (wrong != NULL) {
		complaints_at(l, given->at, "%s", wrong);
	} else if (text != NULL) {
		address_clear(NULL, given_field(given));
		*(struct address *)given_field(given) = address;
	}
	text_free(&text);
}

void
text_clear(void *base, void *field)
{
	(void)base;
	text_free(field);
}
