/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * libmicrohttpd sees only requests of our own in the place of what head/wire.h
 * has found right, as long as it calls us to read (front/client_io_private.h),
 * and keeps the fields of an answer as front/reply.c was told; another version
 * or build may not.  So a gateway tries before it serves: a front, on a socket
 * pair, is sent a request that libmicrohttpd by itself would show in another
 * way, and answers it with fields that are to stand as they were given.  Main
 * thread, before there are workers; it takes milliseconds.
 */

/*
 * False, with a sentence in *ret_message (the caller frees it), when the
 * request or its answer do not arrive as they were sent.
 */
MUST_USE bool selftest(const struct conf *conf, char **ret_message);
