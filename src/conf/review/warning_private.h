/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/* One warning among the complaints of a configuration.  Main thread. */

/* About a member; one that several routes inherit is said once. */
void warning_add(
    struct complaints *complaints, const char *pointer, const char *words);
/* The same, about what the route has of `idempotency` (review/said.h). */
void warning_add_said(struct complaints *complaints, const struct conf *conf,
    const struct conf_route *route, const char *path, const char *words);
