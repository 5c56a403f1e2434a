/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include <jansson.h>

#include "conf/conf.h"

/*
 * What of a configuration keys that exist depend on (tbl/key_options.h), as a
 * running gateway tells it whoever wants to know what another configuration
 * would change: {"routes": [{"name", "path", "methods", "observes", "keys"}],
 * "sources": […], "store": {…}, "restart": {…}}, where "keys" has each option
 * by its path, and is missing where the route has no idempotency.
 * "restart" has what only a restart changes, each option by its path, as a
 * keyed hash of what the file says, but for passwords and tokens.  It holds no
 * secret: of store.secret there is a hash keyed with it, as each key_id is one,
 * and not even the same twice.  Main thread; the caller owns what is returned.
 */

/* routes is the configuration that is served, start that of the start. */
json_t *show_running(const struct conf *routes, const struct conf *start);
/* "keys" of a route with that idempotency. */
json_t *show_running_keys(const struct conf_idempotency *policy);
/*
 * "sources" of that configuration: [{"name", "broker" (its name), "reads" (its
 * stream, table or topics), "key", "path" (of the request), "made" (each other
 * option that makes the request's method or body, by its path), "names"
 * (conf/source_names.h, with that secret and salt)}].
 */
json_t *show_running_sources(
    const struct conf *conf, const char *secret, const char *salt);
/* What keyed hash that secret (NULL: none) has with that salt. */
json_t *show_running_secret(const char *secret, const char *salt);
/* "restart" of that configuration, with that salt. */
json_t *show_running_restart(const struct conf *conf, const char *salt);
