/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/load/loader_private.h"

/* URLs: where Redis or PostgreSQL is, and the targets of an upstream. */

/* What is wrong with the URL that keys of tokens come from; NULL: nothing. */
const char *url_wrong_keys(struct loader *l, const char *text);
/* Reads one target of an upstream, which has room for it.  Main thread. */
void url_add_target(struct loader *l, const struct json_place *at,
    const char *text, struct conf_upstream *upstream);
