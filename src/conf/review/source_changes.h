/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * What another configuration would change of messages whose keys there are, and
 * of what is known of a source by its name: whether it is paused, what is
 * parked and held.  Main thread.
 */

/*
 * Adds a warning for each such change; before is what the configuration that
 * runs says of its sources (show_running_sources()), NULL: nothing, with that
 * secret and salt; without a salt, the hashes are not compared.
 */
void source_changes_find(const json_t *before, const struct conf *next,
    const char *secret, const char *salt, struct complaints *complaints);
