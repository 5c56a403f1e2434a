/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/conf.h"

/*
 * The pointer to where the file says a member of a route's `idempotency`: the
 * route's own, else that of `defaults`; NULL: nowhere.  The caller frees it.
 * Main thread.
 */
char *conf_said(
    const struct conf *conf, const struct conf_route *route, const char *path);
