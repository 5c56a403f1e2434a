/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "operate/admin_client.h"
#include "operate/keys_print.h"
#include "operate/keys_verb_private.h"
#include "cmd/print.h"

/* What the gateway gives at once. */
enum { LIST_MAX = 1000 };

/* --- asking --- */

/* The problem document's own sentence. */
static int
say_refused(const char *file, const struct admin_response *response,
    const json_t *answer)
{
	const char *detail =
	    json_string_value(json_object_get(answer, "detail"));
	fprintf(stderr, "onceproxy keys: %s (status %d)\n",
	    detail ? detail : "the gateway refused", response->status);
	if (response->status == 401)
		fprintf(stderr, "The gateway runs with a different admin.token "
		    "than %s has; pass -c the file that it runs with, or "
		    "restart it.\n", file);
	return KEYS_REFUSED;
}

/* Sends a request, whose body is taken; KEYS_WELL with the answer's JSON. */
static int
ask_gateway(struct keys_line *line, const char *method, const char *target,
    json_t *in, json_t **ret_answer)
{
	char *text = in ? json_dumps(in, JSON_COMPACT) : NULL;
	must(in == NULL || text != NULL);
	json_decref(in);
	struct admin_response response;
	char *message = NULL;
	bool ok = admin_client_ask(&line->conf->admin, line->conf->admin_token,
	    method, target, span_str(text), &response, &message);
	free(text);
	if (!ok) {
		fprintf(stderr, "onceproxy keys: %s\n"
		    "Is the gateway running, and with %s? Check \"systemctl "
		    "status onceproxy\" and its log;\na Unix socket must be "
		    "accessible to this user.\n", message, line->file);
		free(message);
		return KEYS_REFUSED;
	}
	json_t *answer =
	    json_loadb(response.body, response.len, JSON_ALLOW_NUL, NULL);
	free(response.body);
	if (response.status == 200 && json_is_object(answer)) {
		*ret_answer = answer;
		return KEYS_WELL;
	}
	int code = say_refused(line->file, &response, answer);
	json_decref(answer);
	return code;
}

/* The answer is one record. */
static int
ask_of_one(struct keys_line *line, const char *method, const char *target,
    json_t *in)
{
	json_t *record = NULL;
	int code = ask_gateway(line, method, target, in, &record);
	if (code != KEYS_WELL)
		return code;
	if (line->as_json)
		print_json(record);
	else
		keys_print_record(record);
	json_decref(record);
	return KEYS_WELL;
}

/* --- the verbs --- */

static char *
list_target(const struct keys_line *line, long left, const char *cursor)
{
	return mem_printf("/keys?limit=%ld%s%s%s%s",
	    left < LIST_MAX ? left : LIST_MAX,
	    line->state ? "&state=" : "", line->state ? line->state : "",
	    cursor ? "&cursor=" : "", cursor ? cursor : "");
}

static void
print_list(const struct keys_line *line, const json_t *keys, bool more)
{
	if (json_array_size(keys) > 0)
		keys_print_list(keys);
	else if (line->state != NULL)
		printf("No record is %s.\n", line->state);
	else
		puts("No record is PROCESSING, UNKNOWN or FAILED.");
	if (more)
		printf("There are more; --limit %ld shows twice as many.\n",
		    2 * line->limit);
}

/* Page after page, as far as the limit goes. */
int
keys_verb_list(struct keys_line *line)
{
	json_t *keys = json_array(), *next = json_null();
	int code = KEYS_WELL;
	do {
		json_t *page = NULL;
		char *target = list_target(line,
		    line->limit - (long)json_array_size(keys),
		    json_string_value(next));
		code = ask_gateway(line, "GET", target, NULL, &page);
		free(target);
		if (code != KEYS_WELL)
			break;
		json_array_extend(keys, json_object_get(page, "keys"));
		json_decref(next);
		next = json_incref(json_object_get(page, "next"));
		json_decref(page);
	} while (json_is_string(next) &&
	    json_array_size(keys) < (size_t)line->limit);

	if (code == KEYS_WELL && line->as_json) {
		json_t *all =
		    json_pack("{s:O, s:O}", "keys", keys, "next", next);
		print_json(all);
		json_decref(all);
	} else if (code == KEYS_WELL) {
		print_list(line, keys, json_is_string(next));
	}
	json_decref(keys);
	json_decref(next);
	return code;
}

int
keys_verb_show(struct keys_line *line)
{
	const char *query = line->with_body ? "?body=1" : "";
	if ((line->key == NULL) == (line->key_id == NULL))
		return keys_line_wrong("show takes either a KEY_ID or --key");
	if (line->key == NULL && (line->namespace != NULL || line->scope))
		return keys_line_wrong("--namespace and --scope need --key");
	json_t *in = NULL;
	char *target;
	if (line->key_id != NULL) {
		target = mem_printf("/keys/%s%s", line->key_id, query);
	} else {
		in = json_pack("{s:s, s:O*}", "key", line->key, "scope",
		    line->scope);
		if (in == NULL)
			return keys_line_wrong("--key must be UTF-8");
		if (line->namespace != NULL)
			json_object_set_new(in, "namespace",
			    json_string(line->namespace));
		target = mem_printf("/keys/lookup%s", query);
	}
	int code = ask_of_one(line, in ? "POST" : "GET", target, in);
	free(target);
	return code;
}

static int
act_on_key(
    struct keys_line *line, const char *method, const char *word, json_t *in)
{
	if (line->note != NULL &&
	    json_object_set_new(in, "note", json_string(line->note)) != 0) {
		json_decref(in);
		return keys_line_wrong("--note must be UTF-8");
	}
	char *target = mem_printf("/keys/%s%s", line->key_id, word);
	int code = ask_of_one(line, method, target, in);
	free(target);
	return code;
}

int
keys_verb_release(struct keys_line *line)
{
	return act_on_key(line, "POST", "/release", json_object());
}

int
keys_verb_delete(struct keys_line *line)
{
	return act_on_key(line, "DELETE", "", json_object());
}

/* The whole file; "-" is standard input. */
static bool
read_body_file(const char *name, char **ret_bytes, size_t *ret_len)
{
	FILE *file = strcmp(name, "-") ? fopen(name, "re") : stdin;
	if (file == NULL)
		return false;
	size_t len = 0, size = 64 * 1024, n;
	char *bytes = mem_grow(NULL, size);
	while ((n = fread(bytes + len, 1, size - len, file)) > 0) {
		len += n;
		if (len == size)
			bytes = mem_grow(bytes, size *= 2);
	}
	bool ok = !ferror(file);
	int saved = errno;
	if (file != stdin)
		fclose(file);
	errno = saved;
	if (!ok) {
		free(bytes);
		return false;
	}
	*ret_bytes = bytes;
	*ret_len = len;
	return true;
}

static void
put_body(json_t *in, const char *bytes, size_t len)
{
	if (utf8_is_valid(span_of(bytes, len))) {
		json_object_set_new(in, "body", json_stringn(bytes, len));
		return;
	}
	char *text = base64_text(span_of(bytes, len));
	json_object_set_new(in, "body_base64", json_string(text));
	free(text);
}

int
keys_verb_complete(struct keys_line *line)
{
	char *bytes = NULL;
	size_t len = 0;
	if (line->status == 0)
		return keys_line_wrong("complete needs --status");
	if (line->body_file != NULL &&
	    !read_body_file(line->body_file, &bytes, &len)) {
		fprintf(stderr, "onceproxy keys: %s: %s\n", line->body_file,
		    strerror(errno));
		return KEYS_REFUSED;
	}
	json_t *in = json_pack("{s:i, s:O*}", "status", (int)line->status,
	    "headers", line->headers);
	must(in != NULL);
	if (bytes != NULL)
		put_body(in, bytes, len);
	free(bytes);
	return act_on_key(line, "POST", "/complete", in);
}
