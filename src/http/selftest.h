/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * What libmicrohttpd hides of a head is read between the lines of its buffers
 * (http/head_lines.h); another version or build may keep these in another
 * way, or refuse such heads by itself.  So a gateway tries before it serves: a
 * front, on a socket pair, is sent good heads, and heads that could be read in
 * two ways.  Main thread, before there are workers; it takes milliseconds.
 */

/*
 * False, with a sentence in *ret_message (the caller frees it), when a request
 * that must be refused would have been served, or a good one refused.
 */
MUST_USE bool selftest(const struct conf *conf, char **ret_message);
