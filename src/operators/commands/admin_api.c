/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/load/conf_load.h"
#include "operators/commands/admin_client.h"
#include "operators/commands/admin_api.h"
#include "operators/commands/print.h"

/* A page of a list has so many at most. */
enum { LIST_MAX = 1000 };

/* --- its address --- */

/*
 * Loads the part of its configuration that is about the admin interface: the
 * gateway runs, whatever is wrong with its file by now.
 */
static bool
load_conf(struct admin_api *gateway)
{
	struct complaints complaints = {0};
	gateway->conf = conf_load_admin(gateway->file, &complaints);
	bool found = gateway->conf != NULL;
	for (size_t i = 0; i < complaints.count; i++)
		complaints.list[i].warning = found;
	print_complaints(stderr, gateway->file, &complaints, false);
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
	return found;
}

enum admin_api_code
admin_api_find(struct admin_api *gateway)
{
	if (!load_conf(gateway))
		return GATEWAY_REFUSED;
	const struct address *admin = &gateway->conf->admin;
	const char *message = NULL;
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

enum admin_api_code
admin_api_ask(const struct admin_api *gateway, const char *method,
    const char *target, json_t *in, json_t **ret_answer)
{
	const struct conf *conf = gateway->conf;
	char *text = in ? json_dumps(in, JSON_COMPACT) : NULL;
	must(in == NULL || text != NULL);
	json_decref(in);
	struct admin_response response;
	char *message = NULL;
	bool ok = admin_client_ask(&conf->admin, admin_client_token(conf),
	    method, target, span_str(text), &response, &message);
	free(text);
	if (!ok) {
		fprintf(stderr, "onceproxy %s: %s\n"
		    "Is the gateway running, and with %s? Check \"systemctl "
		    "status onceproxy\" and its log;\na Unix socket must be "
		    "accessible to this user.\n", gateway->command, message,
		    gateway->file);
		free(message);
		return GATEWAY_REFUSED;
	}
	json_t *answer =
	    json_loadb(response.body, response.len, JSON_ALLOW_NUL, NULL);
	free(response.body);
	bool well = response.status == 200 || response.status == 202;
	if (well && json_is_object(answer)) {
		*ret_answer = answer;
		return GATEWAY_WELL;
	}
	/* The problem document has a sentence. */
	const char *detail =
	    json_string_value(json_object_get(answer, "detail"));
	fprintf(stderr, "onceproxy %s: %s (status %d)\n", gateway->command,
	    detail ? detail : "the gateway refused", response.status);
	if (response.status == 401)
		fprintf(stderr, "The gateway runs with a different admin.token "
		    "than %s has; pass -c the file that it runs with, or "
		    "restart it; or\nput a token of admin.tokens into the "
		    "environment, as ONCEPROXY_TOKEN.\n", gateway->file);
	json_decref(answer);
	return GATEWAY_REFUSED;
}

/* Appends a page to list; *next is the cursor of the one after it. */
static enum admin_api_code
ask_page(const struct admin_api *gateway, const char *target, const char *name,
    long left, json_t *list, json_t **next)
{
	json_t *page = NULL;
	const char *cursor = json_string_value(*next);
	char *whole = mem_printf("%s&limit=%ld%s%s", target,
	    left < LIST_MAX ? left : LIST_MAX, cursor ? "&cursor=" : "",
	    cursor ? cursor : "");
	enum admin_api_code code =
	    admin_api_ask(gateway, "GET", whole, NULL, &page);
	free(whole);
	if (code != GATEWAY_WELL)
		return code;
	json_array_extend(list, json_object_get(page, name));
	json_decref(*next);
	*next = json_incref(json_object_get(page, "next"));
	json_decref(page);
	return GATEWAY_WELL;
}

enum admin_api_code
admin_api_ask_list(const struct admin_api *gateway, const char *target,
    const char *name, long limit, json_t **ret_list)
{
	json_t *list = json_array(), *next = json_null();
	enum admin_api_code code;
	do {
		code = ask_page(gateway, target, name,
		    limit - (long)json_array_size(list), list, &next);
	} while (code == GATEWAY_WELL && json_is_string(next) &&
	    json_array_size(list) < (size_t)limit);
	if (code == GATEWAY_WELL)
		*ret_list = json_pack("{s:O, s:O}", name, list, "next", next);
	json_decref(list);
	json_decref(next);
	return code;
}

char *
admin_api_encode(const char *text)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-._~";
	char *out = mem_zero(3 * strlen(text) + 1), *at = out;
	for (; *text != '\0'; text++) {
		if (strchr(plain, *text) != NULL)
			*at++ = *text;
		else
			at += sprintf(at, "%%%02X", (unsigned char)*text);
	}
	return out;
}
