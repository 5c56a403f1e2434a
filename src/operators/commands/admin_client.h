/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "base/span.h"
#include "conf/conf.h"

/*
 * An HTTP/1.1 client for commands, which sends one request to the admin
 * interface of a running gateway and waits for its answer.  It blocks, for half
 * a minute at most while nothing comes.  Any thread.
 */
struct admin_response {
	int status;
	char *body; /* NUL-terminated; the caller frees it */
	size_t len;
};

/*
 * The token of whoever runs the command: that of ONCEPROXY_TOKEN in the
 * environment, or else admin.token; NULL: none.
 */
const char *admin_client_token(const struct conf *conf);
/*
 * Sends the request and waits for its answer; false with a sentence in
 * *ret_message (the caller frees it) where no whole answer came: the request
 * may have been done all the same.  token may be NULL; an empty body is none.
 */
MUST_USE bool admin_client_ask(const struct address *address, const char *token,
    const char *method, const char *target, struct span body,
    struct admin_response *ret_response, char **ret_message);
