/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * What the guard knows about a request it is told by libmicrohttpd, and what
 * libmicrohttpd hides it reads between the lines of its buffers (gaps.h):
 * another version or build may keep them in another way.  So a gateway tries
 * itself before it serves: a front of its own, on a socket pair, is sent
 * requests that could be read in two ways, and good ones.  Main thread,
 * before there are workers; it takes some milliseconds.
 */

/*
 * False, with a sentence in *ret_words (the caller frees it), when a request
 * that must be refused would have been served, or a good one refused.
 */
MUST_USE bool selftest(const struct conf *conf, char **ret_words);
