/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "operators/doctor/look_private.h"
#include "operators/probe/servers.h"

/*
 * What `doctor` asks one server of the store.  It changes nothing there.  It
 * blocks, up to store.timeout with each question.  Main thread.
 */

/*
 * Looks at server at of a cluster, whose masters are masters (NULL: not known);
 * without a cluster both are NULL, and it is the one Redis.  pointer: where the
 * file says where it is.
 */
void look_redis(struct doctor *doctor, const char *pointer,
    const struct cluster_masters *masters, const struct cluster_master *at);
/* None can be looked at, for that reason. */
void look_redis_unseen(
    struct doctor *doctor, const char *pointer, const char *message);
