/* SPDX-License-Identifier: BSD-2-Clause */
#pragma once

#include "conf/complaints.h"
#include "conf/conf.h"

/*
 * Warnings about outcomes: how long and as what they are remembered, how an
 * unknown one is asked about, and how a stored one is told.  Main thread.
 */
void warnings_outcomes_find(const struct conf *conf,
    const struct conf_route *route, struct complaints *complaints);
