/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "base/must.h"
#include "conf/conf.h"

/*
 * What is known of the requests that a source makes of messages before there is
 * a message: where they may come to, and the fields that all of them have.  It
 * knows nothing of what messages say.  Pure; any thread.
 */

/*
 * The next route that may serve them, in the order of routes; NULL: no other
 * one.  *at is 0 for the first, and not touched by who asks; it is still 0
 * where none does.
 */
const struct conf_route *source_asks_route(const struct conf *conf,
    const struct conf_source *source, size_t *at);
/*
 * The value of a field that is the same in all of them; false: there is none of
 * that name, or each message has its own.
 */
MUST_USE bool source_asks_header(const struct conf_source *source,
    const char *name, struct span *ret_value);
