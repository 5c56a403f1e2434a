/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "probe/diagnostics.h"

/*
 * The questions of diagnostics.h, put to one server.  It blocks, for
 * store.timeout with each question; any thread that may.
 */
struct cluster_masters;
struct cluster_master;

/*
 * The server at that place of a cluster, whose masters are those (NULL: they
 * are not known); without a cluster both are NULL, and it is the one Redis.
 */
void diagnostics_server(const struct conf *conf,
    const struct cluster_masters *masters, const struct cluster_master *at,
    struct diagnostics *ret_seen);
