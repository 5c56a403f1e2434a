/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/field.h"
#include "base/mem.h"
#include "conf/loader_private.h"

/* Longer than any secret or certificate's name. */
enum { TEXT_FILE_MAX = 1 << 20, KEY_NAME_MAX = 64 };

void
text_free(char **text)
{
	if (*text == NULL)
		return;
	sodium_memzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

/* --- files --- */

static int
read_all(int fd, size_t max, char *buffer, size_t *ret_len)
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
file_read(const char *name, size_t max, char **ret_text, size_t *ret_len)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	/* One buffer that never moves leaves no copies of secrets behind. */
	char *buffer = mem_zero(max + 2);
	size_t len = 0;
	int error = read_all(fd, max, buffer, &len);
	close(fd);
	if (error == 0) {
		*ret_text = mem_copy(buffer, len + 1);
		*ret_len = len;
	}
	sodium_memzero(buffer, len);
	free(buffer);
	return error;
}

/* --- a string, or where one is --- */

bool
is_text(const json_t *value)
{
	return json_is_string(value) || json_object_get(value, "env") ||
	       json_object_get(value, "file");
}

static char *
text_of_env(struct loader *l, const struct place *at, const char *name)
{
	const char *value = env_value(name);
	if (value == NULL) {
		complain_at(l, at, "the environment has no %s", name);
		return NULL;
	}
	return mem_str(span_str(value));
}

static char *
text_of_file(struct loader *l, const struct place *at, const char *name)
{
	char *text;
	size_t len;
	int error = file_read(name, TEXT_FILE_MAX, &text, &len);
	if (error != 0) {
		complain_at(
		    l, at, "%s cannot be read: %s", name, strerror(error));
		return NULL;
	}
	if (memchr(text, '\0', len) != NULL) {
		complain_at(l, at, "%s is not text", name);
		sodium_memzero(text, len);
		free(text);
		return NULL;
	}
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	return text;
}

char *
text_of(struct loader *l, const struct place *at, const json_t *value)
{
	if (json_is_string(value))
		return mem_str(span_str(json_string_value(value)));
	const json_t *env = json_object_get(value, "env");
	const json_t *file = json_object_get(value, "file");
	if (env == NULL && file == NULL) {
		complain_at(l, at, "must be a string");
		return NULL;
	}
	const json_t *name = env ? env : file;
	if (json_object_size(value) != 1 || !json_is_string(name)) {
		complain_at(l, at,
		    "must be a string, {\"env\": NAME} or {\"file\": PATH}");
		return NULL;
	}
	if (env != NULL)
		return text_of_env(l, at, json_string_value(env));
	return text_of_file(l, at, json_string_value(file));
}

/* --- words --- */

int
word_index(const char *words, const char *word)
{
	struct span list = span_str(words);
	struct span one;
	for (int i = 0; span_next(&list, ' ', &one); i++)
		if (span_eq(one, span_str(word)))
			return i;
	return -1;
}

char *
words_listed(const char *words)
{
	struct span list = span_str(words);
	struct span one;
	char *listed = NULL;
	while (span_next(&list, ' ', &one)) {
		const char *between = !listed ? "" : list.ptr ? ", " : " or ";
		char *longer = mem_printf("%s%s\"%.*s\"", listed ? listed : "",
		    between, SPAN_FMT(one));
		free(listed);
		listed = longer;
	}
	return listed;
}

/* --- strings with rules of their own --- */

const char *
wrong_name(const char *text)
{
	if (*text == '\0')
		return "must not be empty";
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return "must not have control characters";
	return NULL;
}

const char *
wrong_field(const char *text)
{
	/* What belongs to one connection or frames the message. */
	static const char *const ours[] = {"connection", "content-length",
	    "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
	    "transfer-encoding", "upgrade"};
	if (!field_is_token(span_str(text)))
		return "must be the name of a header";
	for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
		if (!strcasecmp(text, ours[i]))
			return "this header belongs to the connection, not "
			       "to the request";
	return NULL;
}

/* Every key begins with it, and Redis gives braces a meaning there. */
static const char *
wrong_prefix(const char *text)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz"
				  "0123456789.:_@/-");
	if (*text == '\0')
		return "must not be empty";
	if (text[len] != '\0')
		return "must be of letters, digits and . : _ @ / - only";
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
	return *text == '\0' ? NULL : wrong_field(text);
}

/* It stands in a line of its own before what it has encrypted. */
static const char *
wrong_key_name(const char *text)
{
	size_t len = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz"
				  "0123456789._-");
	if (len == 0 || len > KEY_NAME_MAX || text[len] != '\0')
		return "must be 1 to 64 of letters, digits and . _ -";
	return NULL;
}

static void
parse_checked(struct loader *l, const struct given *given,
    const char *(*wrong)(const char *text))
{
	char *text = text_of(l, given->at, given->value);
	if (text == NULL)
		return;
	const char *why = wrong(text);
	if (why != NULL) {
		complain_at(l, given->at, "%s", why);
		text_free(&text);
		return;
	}
	char **field = given_field(given);
	text_free(field);
	*field = text;
}

void
parse_text(struct loader *l, const struct given *given)
{
	parse_checked(l, given, wrong_name);
}

void
parse_key_name(struct loader *l, const struct given *given)
{
	parse_checked(l, given, wrong_key_name);
}

void
parse_prefix(struct loader *l, const struct given *given)
{
	parse_checked(l, given, wrong_prefix);
}

void
parse_uri_prefix(struct loader *l, const struct given *given)
{
	parse_checked(l, given, wrong_uri_prefix);
}

void
parse_field(struct loader *l, const struct given *given)
{
	parse_checked(l, given, wrong_optional_field);
}

void
clear_text(void *base, void *field)
{
	(void)base;
	text_free(field);
}
