/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * libmicrohttpd sees only what head/wire.h has found right, as long as it calls
 * us to read (http/client_recv_private.h), and keeps the fields of an answer as
 * http/reply.c was told; another version or build may not, or may want other
 * things of a head.  So a gateway tries before it serves: a front, on a socket
 * pair, is sent good requests, whose answers are to have their fields as they
 * were given, and such as could be read in two ways.  Main thread, before there
 * are workers; it takes milliseconds.
 */

/*
 * False, with a sentence in *ret_message (the caller frees it), when a request
 * that must be refused would have been served, or a good one refused or given
 * other fields.
 */
MUST_USE bool selftest(const struct conf *conf, char **ret_message);
