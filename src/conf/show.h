/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/conf.h"
#include "conf/option.h"

/*
 * The way back from a struct conf to JSON, for people who ask what is in
 * force: by the one table of options (tbl/options.h).  What it gives loads as
 * the same configuration, but for its secrets, each of which is "(hidden)".
 * Main thread; the caller owns what is returned.
 */

/* The value of one option in the struct of its group; NULL: it has none. */
json_t *option_show(const struct option *option, const void *base);
/* The whole configuration. */
json_t *conf_show(const struct conf *conf);

/*
 * A configuration that leaves out all that may be left out, to tell what is a
 * default: it has one listen, upstream and route, with idempotency.
 */
const struct conf *conf_of_presets(void);
