/* SPDX-License-Identifier: BSD-2-Clause */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "operators/commands/admin_api.h"
#include "operators/commands/print.h"

/* A page of a list has so many at most. */
enum { LIST_MAX = 1000, SILENT_S = 30, ANSWER_MAX = 256 * 1024 * 1024 };

/* --- its address --- */

enum admin_api_code
admin_api_find(struct admin_api *gateway)
{
	struct complaints complaints = {0};
	const char *message = NULL;
	/* The gateway runs, whatever is wrong with its file by now. */
	gateway->conf = conf_load(gateway->file, true, &complaints);
	const char *token = getenv("ONCEPROXY_TOKEN");
	bool found = gateway->conf != NULL;
	gateway->has_token = token != NULL && *token != '\0';
	for (size_t i = complaints.count; i-- > 0;) {
		struct complaint *c = &complaints.list[i];
		c->warning = found;
		if (!found || !gateway->has_token || c->pointer == NULL ||
		    strncmp(c->pointer, "/admin/", 7) != 0)
			continue;
		/* Who has a token of their own needs no other. */
		free(c->pointer);
		free(c->message);
		complaints.count--;
		memmove(c, c + 1, (complaints.count - i) * sizeof *c);
	}
	print_complaints(stderr, gateway->file, &complaints);
	if (found && complaints.count > 0)
		fprintf(stderr, "onceproxy %s: %s is not valid; the gateway "
		    "that runs is asked at its admin.listen\n",
		    gateway->command, gateway->file);
	else if (!found && access(gateway->file, R_OK) != 0)
		fprintf(stderr, "With -c FILE, onceproxy %s takes the "
		    "file that the gateway runs with.\n",
		    gateway->command);
	else if (!found)
		fputs("A gateway that runs goes on with the file that it has "
		      "read: pass -c a copy of that,\nor ask its admin "
		      "interface: curl --unix-socket PATH "
		      "http://localhost/keys, or\ncurl "
		      "http://HOST:PORT/keys, with -H 'Authorization: Bearer "
		      "TOKEN' where it has a token.\n", stderr);
	complaints_free(&complaints);
	if (!found)
		return GATEWAY_REFUSED;
	const struct address *admin = &gateway->conf->admin;
	if (admin->text == NULL)
		message = "there is no admin.listen, so the gateway cannot be "
			"reached";
	else if (admin->kind == ADDRESS_TCP && admin->port == 0)
		message = "admin.listen has port 0, so the gateway's port is "
			"not known";
	if (message == NULL)
		return GATEWAY_WELL;
	fprintf(stderr, "onceproxy %s: %s: %s\n", gateway->command,
	    gateway->file, message);
	return GATEWAY_REFUSED;
}

/* --- asking it --- */

#define SET(easy, option, value)                                              \
	must(curl_easy_setopt(easy, CURLOPT_##option, value) == CURLE_OK)

/* Makes the fields of a request, with the token of whoever runs the command. */
static struct curl_slist *
make_fields(const struct conf *conf)
{
	const char *token = getenv("ONCEPROXY_TOKEN");
	struct curl_slist *fields =
	    curl_slist_append(NULL, "Content-Type: application/json");
	if (token == NULL || *token == '\0')
		token = conf->admin_token;
	/* Nobody says first that a body may come. */
	must(fields != NULL && curl_slist_append(fields, "Expect:") != NULL);
	if (token == NULL)
		return fields;
	char *field = mem_printf("Authorization: Bearer %s", token);
	must(curl_slist_append(fields, field) != NULL);
	free(field);
	return fields;
}

bool
admin_api_send(const struct conf *conf, const char *method, const char *target,
    const json_t *in, long *ret_status, json_t **ret_answer,
    char **ret_message)
{
	const struct address *at = &conf->admin;
	bool is_unix = at->kind == ADDRESS_UNIX;
	/* One that listens on all addresses is reached at this machine's. */
	char *url = mem_printf("http://%s%s%s",
	    is_unix || *at->host == '\0' ? "localhost" : "",
	    is_unix ? "" : at->text, target);
	char *body = in != NULL ? json_dumps(in, JSON_COMPACT) : NULL;
	char error[CURL_ERROR_SIZE] = "", *text = NULL;
	long why = 0;
	size_t len;
	struct curl_slist *fields = make_fields(conf);
	FILE *out = open_memstream(&text, &len);
	CURL *easy = curl_easy_init();
	must(out != NULL && easy != NULL && (in == NULL || body != NULL));
	SET(easy, URL, url);
	SET(easy, PATH_AS_IS, 1L);
	if (is_unix)
		SET(easy, UNIX_SOCKET_PATH, at->host);
	SET(easy, PROTOCOLS_STR, "http");
	SET(easy, PROXY, ""); /* nor the one of the environment */
	SET(easy, CUSTOMREQUEST, method);
	SET(easy, HTTPHEADER, fields);
	if (body != NULL)
		SET(easy, POSTFIELDS, body);
	SET(easy, CONNECTTIMEOUT, (long)SILENT_S);
	SET(easy, LOW_SPEED_LIMIT, 1L);
	SET(easy, LOW_SPEED_TIME, (long)SILENT_S);
	SET(easy, MAXFILESIZE, (long)ANSWER_MAX);
	SET(easy, NOSIGNAL, 1L);
	SET(easy, WRITEDATA, out);
	SET(easy, ERRORBUFFER, error);
	CURLcode code = curl_easy_perform(easy);
	(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, ret_status);
	(void)curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &why);
	must(fclose(out) == 0);
	if (code == CURLE_OK)
		*ret_answer = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
	else if (code == CURLE_COULDNT_CONNECT && why != 0)
		/* Its own words name no socket, and no reason. */
		*ret_message = mem_printf("%s: cannot reach the gateway: %s",
		    at->text, strerror((int)why));
	else
		*ret_message = mem_printf("%s: %s", at->text,
		    *error != '\0' ? error : curl_easy_strerror(code));
	curl_easy_cleanup(easy);
	curl_slist_free_all(fields);
	free(text);
	free(body);
	free(url);
	return code == CURLE_OK;
}

enum admin_api_code
admin_api_ask(const struct admin_api *gateway, const char *method,
    const char *target, json_t *in, json_t **ret_answer)
{
	char *message = NULL;
	json_t *answer = NULL;
	long status;
	bool ok = admin_api_send(gateway->conf, method, target, in, &status,
	    &answer, &message);
	json_decref(in);
	if (!ok) {
		fprintf(stderr, "onceproxy %s: %s\n"
		    "Is the gateway running, and with %s? Check \"systemctl "
		    "status onceproxy\" and its log;\na Unix socket must be "
		    "accessible to this user.\n", gateway->command, message,
		    gateway->file);
		free(message);
		return GATEWAY_REFUSED;
	}
	bool well = status == 200 || status == 202;
	if (well && json_is_object(answer)) {
		*ret_answer = answer;
		return GATEWAY_WELL;
	}
	/* The problem document has a sentence. */
	const char *detail =
	    json_string_value(json_object_get(answer, "detail"));
	fprintf(stderr, "onceproxy %s: %s (status %ld)\n", gateway->command,
	    detail ? detail : "the gateway refused", status);
	if (status == 401 && gateway->has_token)
		fputs("ONCEPROXY_TOKEN is neither admin.token nor one of "
		      "admin.tokens of the gateway that runs.\n", stderr);
	else if (status == 401 && gateway->conf->admin_token == NULL)
		fprintf(stderr, "No admin.token was found in %s: put a token "
		    "of admin.tokens into the\nenvironment, as "
		    "ONCEPROXY_TOKEN.\n", gateway->file);
	else if (status == 401)
		fprintf(stderr, "The gateway runs with a different admin.token "
		    "than %s has; pass -c the file that it runs with, or "
		    "restart it; or\nput a token of admin.tokens into the "
		    "environment, as ONCEPROXY_TOKEN.\n", gateway->file);
	json_decref(answer);
	return GATEWAY_REFUSED;
}

enum admin_api_code
admin_api_ask_list(const struct admin_api *gateway, const char *target,
    const char *name, long limit, json_t **ret_list)
{
	json_t *list = json_array(), *next = json_null();
	enum admin_api_code code;
	do {
		json_t *page = NULL;
		const char *cursor = json_string_value(next);
		long left = limit - (long)json_array_size(list);
		char *whole = mem_printf("%s&limit=%ld%s%s", target,
		    left < LIST_MAX ? left : LIST_MAX,
		    cursor ? "&cursor=" : "", cursor ? cursor : "");
		code = admin_api_ask(gateway, "GET", whole, NULL, &page);
		free(whole);
		if (code != GATEWAY_WELL)
			break;
		json_array_extend(list, json_object_get(page, name));
		json_decref(next);
		next = json_incref(json_object_get(page, "next"));
		json_decref(page);
	} while (json_is_string(next) &&
	    json_array_size(list) < (size_t)limit);
	if (code == GATEWAY_WELL)
		*ret_list = json_pack("{s:O, s:O}", name, list, "next", next);
	json_decref(list);
	json_decref(next);
	return code;
}

char *
admin_api_with(char *target, const char *name, const char *value)
{
	if (value == NULL)
		return target;
	char *encoded = admin_api_encode(value);
	char *longer = mem_printf("%s&%s=%s", target, name, encoded);
	free(encoded);
	free(target);
	return longer;
}

char *
admin_api_encode(const char *text)
{
	char *encoded = curl_easy_escape(NULL, text, 0);
	must(encoded != NULL);
	char *own = mem_str(span_str(encoded));
	curl_free(encoded);
	return own;
}
