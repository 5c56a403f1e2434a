/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"
#include "http/front/problem.h"

/*
 * A problem document as the bytes of a whole HTTP/1.1 message, for where
 * libmicrohttpd takes no answer: on a connection too many, and in the middle
 * of a request.  It says that the connection closes.  The bytes come from
 * the arena.  detail: empty for that of tbl/problems.h.  Any thread.
 */
struct span refusal_text(struct arena *arena, const struct conf *conf,
    enum problem problem, struct span detail);
