/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "base/must.h"
#include "conf/conf.h"

/*
 * Operators' commands ask a running gateway, which they find by its
 * configuration.  Whatever goes wrong is said on standard error, in the name of
 * the command.  Main thread.
 */
enum admin_api_code { GATEWAY_WELL = 0, GATEWAY_REFUSED = 1 };

struct admin_api {
	const char *command; /* "keys" */
	const char *file;    /* the configuration */
	const struct conf *conf;
	bool has_token; /* ONCEPROXY_TOKEN */
};

/*
 * Loads its configuration, which conf_unref drops.  One that is not valid has
 * admin alone (only_admin of conf_load), and no routes.
 */
enum admin_api_code admin_api_find(struct admin_api *gateway);
/*
 * Sends a request to the admin interface of that configuration, with the token
 * of ONCEPROXY_TOKEN in the environment, or else admin.token, and waits for the
 * answer, at most half a minute while nothing comes.  *ret_answer is NULL where
 * that is no JSON.  False with a sentence in *ret_message (the caller frees it)
 * where no whole answer came: the request may have been done all the same.  Any
 * thread.
 */
MUST_USE bool admin_api_send(const struct conf *conf, const char *method,
    const char *target, const json_t *in, long *ret_status,
    json_t **ret_answer, char **ret_message);
/* Sends a request, whose body is taken, or NULL; WELL comes with an object. */
enum admin_api_code admin_api_ask(const struct admin_api *gateway,
    const char *method, const char *target, json_t *in, json_t **ret_answer);
/*
 * Asks for a list, page after page, up to limit: target is the path with its
 * query, which has one parameter at least; name is the list's.  WELL comes with
 * {name, next}.
 */
enum admin_api_code admin_api_ask_list(const struct admin_api *gateway,
    const char *target, const char *name, long limit, json_t **ret_list);

/*
 * Percent-encodes all but letters, digits, "-", ".", "_" and "~" (RFC 3986,
 * section 2.1), for a segment or a parameter; the caller frees the text.
 */
char *admin_api_encode(const char *text);
/* Puts "&NAME=VALUE" behind a target, which is taken, if there is a value. */
char *admin_api_with(char *target, const char *name, const char *value);
