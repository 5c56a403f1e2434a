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
json_t *show_option(const struct option *option, const void *base);
/* The struct of a group; of GROUP_ROOT, the whole configuration. */
json_t *show_group(enum group group, const void *base);
