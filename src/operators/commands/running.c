/* SPDX-License-Identifier: BSD-2-Clause */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/address.h"
#include "conf/load/conf_load.h"
#include "operators/commands/admin_client.h"
#include "operators/commands/check.h"
#include "operators/commands/running.h"

static const char http[] = "http://";
static const char https[] = "https://";

/* As admin.listen has it, without http:// and where no file is so named. */
static bool
is_host_port(const char *against)
{
	struct address address = {0};
	bool reads = address_read(against, &address) == NULL;
	address_clear(NULL, &address);
	return reads && access(against, F_OK) != 0;
}

static bool
is_gateway(const char *against)
{
	return against != NULL &&
	    (!strncmp(against, http, sizeof http - 1) ||
		!strncmp(against, https, sizeof https - 1) ||
		!strncmp(against, "unix:", strlen("unix:")) ||
		is_host_port(against));
}

static void
say_untold(const char *against, const char *message)
{
	fprintf(stderr, "onceproxy check: %s: %s\n", against, message);
}

/* HOST:PORT, of which a URL may have a slash behind it, or unix:/path. */
static bool
read_address(const char *against, struct address *ret_address)
{
	bool url = !strncmp(against, http, sizeof http - 1);
	char *text =
	    mem_str(span_str(url ? against + sizeof http - 1 : against));
	size_t len = strlen(text);
	if (url && len > 0 && text[len - 1] == '/')
		text[len - 1] = '\0';
	const char *wrong = !strncmp(against, https, sizeof https - 1)
	    ? "an admin interface speaks http://"
	    : address_read(text, ret_address);
	free(text);
	if (wrong != NULL)
		say_untold(against, wrong);
	return wrong == NULL;
}

/* What it tells; NULL: said why. */
static json_t *
read_told(const char *against, const struct admin_response *response)
{
	json_t *told = json_loadb(response->body, response->len, 0, NULL);
	const char *message = response->status == 401
	    ? "its admin.token is not that of this configuration"
	    : "it does not tell its configuration: an admin interface of this "
	      "version does";
	if (response->status == 200 &&
	    json_is_array(json_object_get(told, "routes")) &&
	    json_is_object(json_object_get(told, "store")))
		return told;
	json_decref(told);
	say_untold(against, message);
	return NULL;
}

/* By the token of the configuration that is checked. */
static json_t *
ask_running(const struct conf *conf, const char *against)
{
	struct address address = {0};
	struct admin_response response;
	char *message = NULL;
	json_t *told = NULL;
	if (!read_address(against, &address))
		return NULL;
	if (admin_client_ask(&address, conf->admin_token, "GET",
		"/configuration", SPAN(""), &response, &message)) {
		told = read_told(against, &response);
		free(response.body);
	} else {
		fprintf(stderr, "onceproxy check: %s\n", message);
		free(message);
	}
	address_clear(NULL, &address);
	return told;
}

int
running_check(const struct command_line *line)
{
	struct command_line own = *line;
	struct complaints complaints = {NULL, 0};
	json_t *told = NULL;
	bool asked = true;
	if (!is_gateway(line->against))
		return check_run(line);
	const struct conf *conf = conf_load(line->file, &complaints);
	if (conf != NULL) {
		told = ask_running(conf, line->against);
		asked = told != NULL;
	}
	complaints_free(&complaints);
	conf_unref(&conf);
	own.against = NULL;
	own.running = told;
	own.untold = !asked;
	int code = check_run(&own);
	json_decref(told);
	return code;
}
